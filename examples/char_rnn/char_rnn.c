// A language model of characters: a recurrent network reads a text, learns which character comes next, and
// writes a text of its own at the end.
//
//     char_rnn [--text FILE]
//     braid run --ps 1 --workers 2 char_rnn
//
// Backpropagation is truncated: a step trains on UNROLL characters of each row, and the state of the network
// goes on from step to step.
#include <braid/braid.h>

#include "flags.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 16,
    UNROLL = 24,
    EMBEDDED = 16,
    UNITS = 64,
    STATES = 2, // c and h of an LSTM
    CHARACTERS = 256,
    GENERATED = 40000
};

static struct {
    const char *text;
    int64_t train_steps, sample_length;
    double learning_rate, temperature;
} flags = {.text = "", .train_steps = 500, .sample_length = 300, .learning_rate = 0.01, .temperature = 0.5};

static flag flag_list[] = {
    {"text", FLAG_STRING, &flags.text, "The text to learn. Empty: the program makes up sentences.", 0},
    {"train_steps", FLAG_INT, &flags.train_steps, "Training steps, of all workers together.", 0},
    {"learning_rate", FLAG_FLOAT, &flags.learning_rate, "Learning rate of Adam.", 0},
    {"sample_length", FLAG_INT, &flags.sample_length, "Characters to write at the end.", 0},
    {"temperature", FLAG_FLOAT, &flags.temperature,
     "How freely they are drawn: 1 as the model says, less for likelier ones.", 0},
};

// ---- The text ----

typedef struct text {
    unsigned char *bytes;
    size_t length, trained; // the rest is for the test
} text;

static void *room(size_t size)
{
    void *p = malloc(size);
    if (!p) abort();
    return p;
}

// Sentences such as "the old king finds a lamp. ", the same ones in each process.
static text make_up(void)
{
    static const char *const parts[5][6] = {
        {"the", "a", "one", "this", "that", "every"},
        {"old", "small", "wise", "happy", "brave", "quiet"},
        {"king", "fox", "child", "queen", "bird", "miller"},
        {"finds", "sees", "wants", "takes", "loves", "knows"},
        {"bread. ", "gold. ", "water. ", "music. ", "snow. ", "stories. "}};
    text t = {.bytes = room(GENERATED + 64)};
    uint64_t random = 1;
    while (t.length < GENERATED)
        for (int part = 0; part < 5; part++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            const char *word = parts[part][(random >> 33) % 6];
            t.length += (size_t)sprintf((char *)t.bytes + t.length, part < 4 ? "%s " : "%s", word);
        }
    return t;
}

// Stores why a file cannot be learned in `status`.
static text read_text(const char *path, braid_status *status)
{
    text t = {.bytes = NULL};
    FILE *file = fopen(path, "rb");
    char message[512];
    snprintf(message, sizeof message, "--text: '%s' cannot be read", path);
    if (file && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        t.bytes = size > 0 ? room((size_t)size) : NULL;
        rewind(file);
        t.length = t.bytes ? fread(t.bytes, 1, (size_t)size, file) : 0;
        snprintf(message, sizeof message, "--text: '%s' has %ld characters; %d are needed", path, size,
                 20 * BATCH * (UNROLL + 1));
    }
    if (file) fclose(file);
    if (t.length < 20 * BATCH * (UNROLL + 1)) braid_status_set(status, BRAID_INVALID_ARGUMENT, message);
    return t;
}

// ---- The model ----

typedef struct model {
    braid_out ids, next_ids; // [rows, time] int32: characters, and those that follow
    braid_out first[STATES], last[STATES];
    braid_out likely, loss; // probabilities [rows * time, CHARACTERS] of what follows
    braid_op *train;
} model;

static model build_model(braid_graph *g)
{
    model m = {.ids = braid_placeholder(g, "ids", BRAID_INT32, BRAID_SHAPE(-1, -1)),
               .next_ids = braid_placeholder(g, "next_ids", BRAID_INT32, BRAID_SHAPE(-1, -1))};
    for (int i = 0; i < STATES; i++)
        m.first[i] = braid_placeholder(g, "state", BRAID_FLOAT, BRAID_SHAPE(-1, UNITS));
    const braid_variable embedding =
        braid_variable_get(g, "embedding", BRAID_FLOAT, BRAID_SHAPE(CHARACTERS, EMBEDDED),
                           braid_random_uniform_initializer(-1, 1), true);
    const braid_out x = braid_embedding_lookup(g, embedding.ref, m.ids);
    braid_rnn_cell *cell = braid_basic_lstm_cell(g, UNITS, 1, NULL);
    const braid_out y = braid_dynamic_rnn(cell, x, &(braid_rnn_options){.initial_state = m.first}, m.last);
    const braid_out logits =
        braid_dense(g, "characters", braid_reshape(g, y, BRAID_SHAPE(-1, UNITS)), CHARACTERS);
    const braid_out wanted = braid_reshape(g, m.next_ids, BRAID_SHAPE(-1));
    m.likely = braid_softmax(g, logits);
    m.loss = braid_reduce_mean(g, braid_sparse_softmax_cross_entropy(g, logits, wanted));

    int count;
    braid_optimizer *adam = braid_adam(g, (float)flags.learning_rate);
    const braid_grad_and_var *computed = braid_compute_gradients(adam, m.loss, NULL, 0, &count);
    braid_grad_and_var *pairs = room((size_t)(count + 1) * sizeof *pairs);
    if (count) memcpy(pairs, computed, (size_t)count * sizeof *pairs);
    braid_clip_gradients(g, pairs, count, 5);
    m.train = braid_apply_gradients(adam, pairs, count, braid_global_step(g));
    free(pairs);
    return m;
}

// ---- Running it ----

// Reads a part of the text from its beginning to its end, again and again, as BATCH rows at once.
typedef struct reader {
    const unsigned char *bytes;
    size_t row, at; // the length of a row, the place in each
    braid_tensor *ids, *next_ids, *state[STATES];
} reader;

static void forget(reader *r, int rows)
{
    for (int i = 0; i < STATES; i++) {
        braid_tensor_free(r->state[i]);
        r->state[i] = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(rows, UNITS), NULL);
        memset(braid_tensor_data(r->state[i]), 0, braid_tensor_bytes(r->state[i]));
    }
}

static reader reader_new(const unsigned char *bytes, size_t length)
{
    reader r = {.bytes = bytes,
                .row = length / BATCH,
                .ids = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH, UNROLL), NULL),
                .next_ids = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH, UNROLL), NULL)};
    forget(&r, BATCH);
    return r;
}

static void reader_free(reader *r)
{
    braid_tensor_free(r->ids);
    braid_tensor_free(r->next_ids);
    for (int i = 0; i < STATES; i++)
        braid_tensor_free(r->state[i]);
}

// Fills in the next characters of each row. At the end of the rows it begins again, with an empty state.
static void read_on(reader *r)
{
    if (r->at + UNROLL + 1 > r->row) {
        r->at = 0;
        forget(r, BATCH);
    }
    int32_t *ids = braid_tensor_data(r->ids), *next_ids = braid_tensor_data(r->next_ids);
    for (int i = 0; i < BATCH * UNROLL; i++) {
        const unsigned char *here = r->bytes + (size_t)(i / UNROLL) * r->row + r->at + i % UNROLL;
        ids[i] = here[0];
        next_ids[i] = here[1];
    }
    r->at += UNROLL;
}

static void keep_state(reader *r, braid_tensor **state)
{
    for (int i = 0; i < STATES; i++) {
        braid_tensor_free(r->state[i]);
        r->state[i] = state[i];
    }
}

static void train(braid_monitored_session *s, const model *m, reader *r)
{
    while (!braid_should_stop(s)) {
        braid_tensor *state[STATES];
        read_on(r);
        if (!braid_run(s,
                       BRAID_FEED({m->ids, r->ids}, {m->next_ids, r->next_ids}, {m->first[0], r->state[0]},
                                  {m->first[1], r->state[1]}),
                       BRAID_FETCH({m->last[0], &state[0]}, {m->last[1], &state[1]}), m->train))
            keep_state(r, state);
    }
}

// Prints the mean loss over the part of the text that was not trained on.
static void test(braid_monitored_session *s, const model *m, const text *t)
{
    reader r = reader_new(t->bytes + t->trained, t->length - t->trained);
    double sum = 0;
    int steps = 0;
    while (r.at + UNROLL + 1 <= r.row) {
        braid_tensor *state[STATES], *loss;
        read_on(&r);
        if (braid_evaluate(s,
                           BRAID_FEED({m->ids, r.ids}, {m->next_ids, r.next_ids}, {m->first[0], r.state[0]},
                                      {m->first[1], r.state[1]}),
                           BRAID_FETCH({m->loss, &loss}, {m->last[0], &state[0]}, {m->last[1], &state[1]})))
            break;
        sum += (double)*(const float *)braid_tensor_data(loss);
        steps++;
        braid_tensor_free(loss);
        keep_state(&r, state);
    }
    if (steps) printf("test loss: %.3f\n", sum / steps);
    reader_free(&r);
}

// Draws a character by its probability to the power of 1 / temperature.
static int draw(const float *likely)
{
    double weights[CHARACTERS], sum = 0;
    for (int i = 0; i < CHARACTERS; i++)
        sum += weights[i] = pow((double)likely[i], 1 / flags.temperature);
    double at = sum * rand() / ((double)RAND_MAX + 1);
    int i = 0;
    while (i < CHARACTERS - 1 && at >= weights[i])
        at -= weights[i++];
    return i;
}

// Writes a text: each character that is drawn is what the network reads next.
static void write_text(braid_monitored_session *s, const model *m, int first)
{
    reader r = {.ids = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(1, 1), NULL)};
    forget(&r, 1);
    printf("sample: ");
    for (int64_t i = 0; i < flags.sample_length; i++) {
        braid_tensor *state[STATES], *likely;
        *(int32_t *)braid_tensor_data(r.ids) = first;
        if (braid_evaluate(
                s, BRAID_FEED({m->ids, r.ids}, {m->first[0], r.state[0]}, {m->first[1], r.state[1]}),
                BRAID_FETCH({m->likely, &likely}, {m->last[0], &state[0]}, {m->last[1], &state[1]})))
            break;
        first = draw(braid_tensor_data(likely));
        putchar(first);
        braid_tensor_free(likely);
        keep_state(&r, state);
    }
    putchar('\n');
    reader_free(&r);
}

// ---- The program ----

// `cluster` and `server` are NULL for a program that trains alone.
static braid_code work(const braid_cluster *cluster, braid_server *server, const text *t)
{
    braid_graph *g = braid_graph_new();
    const int index = cluster ? braid_cluster_this_task(cluster) : 0;
    char device[64];
    snprintf(device, sizeof device, "/job:worker/task:%d", index);
    if (cluster)
        braid_push_device_setter(g, braid_replica_device_setter(
                                        g, cluster, &(braid_device_setter_options){.worker_device = device}));
    const model m = build_model(g);
    const char *const filters[] = {"/job:ps", device}; // other workers may come and go
    braid_monitored_session *s = braid_monitored_session_open(
        g,
        &(braid_session_config){
            .session = {.server = server, .device_filters = filters, .device_filter_count = cluster ? 2 : 0},
            .is_chief = !cluster || index == 0,
            .hooks = BRAID_HOOKS(braid_stop_at_step(flags.train_steps),
                                 braid_progress(m.loss, flags.train_steps))});
    reader r = reader_new(t->bytes, t->trained);
    r.at = r.row / 2 * (size_t)(index % 2) / UNROLL * UNROLL; // workers begin at different places
    train(s, &m, &r);
    if (braid_monitored_session_is_chief(s)) {
        test(s, &m, t);
        write_text(s, &m, t->bytes[t->length - 1]);
    }
    reader_free(&r);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return code;
}

static int run_task(const braid_cluster *cluster, braid_status *status)
{
    const char *job = cluster ? braid_cluster_this_job(cluster) : NULL;
    const bool is_ps = job && strcmp(job, "ps") == 0;
    text t = {.bytes = NULL};
    if (!is_ps) t = *flags.text ? read_text(flags.text, status) : make_up();
    t.trained = t.length / 10 * 9;
    braid_server *server = NULL;
    if (job && !braid_status_code(status))
        server = braid_server_start(cluster, job, braid_cluster_this_task(cluster), NULL, status);
    if (server) braid_server_stop_on_signals(server);
    int exit_code = 0;
    if (is_ps && server)
        (void)braid_server_join(server, status); // returns when the workers are done
    else if (!is_ps && !braid_status_code(status))
        exit_code = braid_exit_code(work(job ? cluster : NULL, server, &t));
    braid_server_free(server);
    free(t.bytes);
    return exit_code;
}

int main(int argc, char **argv)
{
    switch (flags_parse(argc, argv, "Learns a text character by character, and writes one.", flag_list,
                        sizeof flag_list / sizeof flag_list[0])) {
    case FLAGS_HELP: return 0;
    case FLAGS_ERROR: return 2;
    case FLAGS_OK: break;
    }
    if (flags.train_steps < 1 || flags.sample_length < 0 || !(flags.learning_rate > 0) ||
        !(flags.temperature > 0)) {
        fprintf(stderr, "char_rnn: steps, learning rate and temperature must be positive\n");
        return 2;
    }
    braid_status *status = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_env(status); // no TF_CONFIG: without jobs
    int exit_code = braid_status_code(status) ? 0 : run_task(cluster, status);
    if (braid_status_code(status)) {
        fprintf(stderr, "char_rnn: %s\n", braid_status_message(status));
        exit_code = braid_status_code(status) == BRAID_INVALID_ARGUMENT ? 2 : 1;
    }
    braid_cluster_free(cluster);
    braid_status_free(status);
    return exit_code;
}
