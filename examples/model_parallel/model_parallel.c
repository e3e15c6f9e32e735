// Model parallelism: the layers of a model that is too large for one task are on several tasks.
//
//     braid run --ps 1 --workers 2 model_parallel
//
// The model learns which word follows which. Its first layer is a vector for each word, its last layer
// another vector for each word that may follow. Both are large, and the memory of each task's server is
// limited (`limits` of braid_server_options; `braid server --limit`). Worker 0, the client, first puts both
// layers on its own task, whose server refuses that. Then it puts each on a worker of its own, and trains.
// What goes from task to task in a step are the rows that a layer has looked up, and their gradients.
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#define LIMIT "memory=40M"
#define WORDS 98304
#define VECTOR 64 // numbers for a word: each layer has 25 MB
#define BATCH 256
#define STEPS 400

typedef struct model {
    braid_out words, next; // placeholders [BATCH]
    braid_out loss, accuracy;
    braid_op *train;
} model;

// Rows of a layer that is on a task of job worker.
static braid_out look_up(braid_graph *g, const braid_cluster *cluster, const char *layer, int worker,
                         braid_out words)
{
    char device[64];
    snprintf(device, sizeof device, "/job:worker/task:%d/cpu:0",
             braid_cluster_task_index(cluster, "worker", worker));
    braid_push_device(g, device);
    const braid_variable table = braid_variable_get(g, layer, BRAID_FLOAT, BRAID_SHAPE(WORDS, VECTOR),
                                                    braid_random_uniform_initializer(-0.5F, 0.5F), true);
    const braid_out rows = braid_embedding_lookup(g, table.ref, words);
    braid_pop_device(g);
    return rows;
}

// The layers, on one task or on two.
static model build_model(braid_graph *g, const braid_cluster *cluster, int tasks)
{
    model m = {.words = braid_placeholder(g, "words", BRAID_INT32, BRAID_SHAPE(BATCH)),
               .next = braid_placeholder(g, "next", BRAID_INT32, BRAID_SHAPE(BATCH))};
    const braid_out first = look_up(g, cluster, "first", 0, m.words);
    const braid_out last = look_up(g, cluster, "last", tasks - 1, m.next);
    // How well each word of the batch is followed by each of the others: the own one is to be the best.
    const braid_out scores = braid_matmul_transposed(g, first, last, false, true);
    int32_t own[BATCH];
    for (int i = 0; i < BATCH; i++)
        own[i] = i;
    const braid_out labels = braid_const_int32s(g, "own", own, BATCH);
    m.loss = braid_reduce_mean(g, braid_sparse_softmax_cross_entropy(g, scores, labels));
    const braid_out best = braid_cast(g, braid_argmax(g, scores, 1), BRAID_INT32);
    m.accuracy = braid_reduce_mean(g, braid_cast(g, braid_equal(g, best, labels), BRAID_FLOAT));
    braid_optimizer *optimizer = braid_gradient_descent(g, 100);
    braid_optimizer_colocate_gradients(optimizer, true); // each task computes those of its layer
    m.train = braid_minimize(optimizer, m.loss, braid_global_step(g));
    return m;
}

// Words, the first ones more often than the others, each at most once; and the word that follows each.
static void draw_batch(int32_t *words, int32_t *next)
{
    static bool is_drawn[WORDS];
    for (int i = 0; i < BATCH;) {
        const double x = (double)rand() / ((double)RAND_MAX + 1);
        const int32_t word = (int32_t)(x * x * x * x * WORDS);
        if (is_drawn[word]) continue;
        is_drawn[word] = true;
        words[i] = word;
        next[i++] = (word * 7 + 3) % WORDS;
    }
    for (int i = 0; i < BATCH; i++)
        is_drawn[words[i]] = false;
}

// Both layers on one task. Returns the code of the error, which is expected.
static braid_code try_one_task(const braid_cluster *cluster, braid_server *server)
{
    braid_status *status = braid_status_new();
    braid_graph *g = braid_graph_new();
    build_model(g, cluster, 1);
    braid_op *init = braid_global_variables_initializer(g);
    // What this session leaves in the server ends with it.
    braid_session *s = braid_session_open(
        g, &(braid_session_options){.server = server, .isolate_session_state = true}, status);
    if (s) braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, status);
    const braid_code code = braid_status_code(status);
    printf("on one task: %s\n", code ? braid_status_message(status) : "it fits");
    braid_session_close(s, NULL);
    braid_graph_free(g);
    braid_status_free(status);
    return code;
}

static void print_accuracy(const model *m, braid_monitored_session *s, const braid_feed *feeds)
{
    braid_tensor *accuracy;
    if (braid_evaluate(s, feeds, BRAID_FETCH({m->accuracy, &accuracy}))) return;
    printf("accuracy: %.3f\n", (double)*(float *)braid_tensor_data(accuracy));
    braid_tensor_free(accuracy);
}

static braid_code train_on_two_tasks(const braid_cluster *cluster, braid_server *server)
{
    braid_graph *g = braid_graph_new();
    const model m = build_model(g, cluster, 2);
    braid_tensor *words = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH), NULL);
    braid_tensor *next = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH), NULL);
    const braid_feed *feeds = BRAID_FEED({m.words, words}, {m.next, next});
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){
               .session.server = server,
               .is_chief = true,
               .hooks = BRAID_HOOKS(braid_stop_at_step(STEPS), braid_progress(m.loss, STEPS))});
    while (!braid_should_stop(s)) {
        draw_batch(braid_tensor_data(words), braid_tensor_data(next));
        braid_run(s, feeds, NULL, m.train);
    }
    draw_batch(braid_tensor_data(words), braid_tensor_data(next));
    print_accuracy(&m, s, feeds);
    braid_tensor_free(words);
    braid_tensor_free(next);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return code;
}

static braid_code train(const braid_cluster *cluster, braid_server *server)
{
    if (braid_cluster_num_tasks(cluster, "worker") < 2) {
        fprintf(stderr, "model_parallel: it needs two workers: braid run --workers 2\n");
        return BRAID_INVALID_ARGUMENT;
    }
    if (try_one_task(cluster, server) != BRAID_RESOURCE_EXHAUSTED) return BRAID_INTERNAL;
    return train_on_two_tasks(cluster, server);
}

int main(void)
{
    return client_main("model_parallel", &(braid_server_options){.limits = LIMIT}, train);
}
