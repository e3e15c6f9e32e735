// Word vectors by skip-gram with noise-contrastive estimation (Mikolov et al., NIPS 2013), in one process or
// on a cluster, where the tables lie on the parameter servers:
//
//     word2vec [TEXT_FILE]
//     braid run --ps 1 --workers 2 word2vec [TEXT_FILE]
//
// Without a file the program learns from sentences that it makes, each of words of one topic. The chief
// prints the nearest neighbours of some words.
#include <braid/braid.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR 32      // numbers in the vector of a word
#define WORDS_MAX 2000 // of the vocabulary: the most frequent words
#define BATCH 128
#define WINDOW 2 // words before and after that are the context of a word
#define STEPS 2000
#define SHOWN 10 // words whose neighbours are printed
#define NEAREST 3

// ---- The text ----

typedef struct text {
    char *letters; // the text, words ended by '\0'
    char **words;  // [count]
    // [count] the numbers of the words, the most frequent word first; -1: not in the vocabulary
    int32_t *ids;
    int count;
    char *vocabulary[WORDS_MAX];
    int size; // of the vocabulary
} text;

static void *checked(void *memory)
{
    if (!memory) abort();
    return memory;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t len = 0, size = 1 << 16, got;
    char *all = checked(malloc(size + 1));
    while ((got = fread(all + len, 1, size - len, file)) > 0) {
        len += got;
        if (len == size) all = checked(realloc(all, (size *= 2) + 1));
    }
    fclose(file);
    all[len] = '\0';
    return all;
}

static char *make_text(void)
{
    static const char *const topics[4][6] = {{"cat", "dog", "horse", "cow", "sheep", "goat"},
                                             {"red", "green", "blue", "yellow", "black", "white"},
                                             {"bread", "cheese", "apple", "soup", "rice", "cake"},
                                             {"rain", "snow", "wind", "storm", "fog", "sun"}};
    const int sentences = 2000, length = 12;
    char *all = checked(malloc((size_t)sentences * (size_t)length * 8 + 1)), *end = all;
    for (int i = 0; i < sentences; i++) {
        const char *const *topic = topics[rand() % 4];
        for (int k = 0; k < length; k++)
            end += sprintf(end, "%s ", topic[rand() % 6]);
    }
    return all;
}

static void split(text *t)
{
    char *at = t->letters;
    t->words = checked(calloc(strlen(at) / 2 + 1, sizeof *t->words));
    while (*at) {
        if (!isalpha((unsigned char)*at)) {
            *at++ = '\0';
            continue;
        }
        t->words[t->count++] = at;
        for (; isalpha((unsigned char)*at); at++)
            *at = (char)tolower((unsigned char)*at);
    }
}

typedef struct entry {
    char *word;
    int times;
} entry;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_times(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->times != y->times ? (x->times < y->times) - (x->times > y->times) : strcmp(x->word, y->word);
}

typedef struct numbered {
    char *word;
    int32_t id;
} numbered;

static int by_word(const void *a, const void *b)
{
    return strcmp(((const numbered *)a)->word, ((const numbered *)b)->word);
}

// Numbers the most frequent words, and the words of the text.
static void number_words(text *t)
{
    char **sorted = checked(malloc(((size_t)t->count + 1) * sizeof *sorted));
    entry *entries = checked(calloc((size_t)t->count + 1, sizeof *entries));
    int different = 0;
    memcpy(sorted, t->words, (size_t)t->count * sizeof *sorted);
    qsort(sorted, (size_t)t->count, sizeof *sorted, by_name);
    for (int i = 0; i < t->count; i++) {
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0) entries[different++].word = sorted[i];
        entries[different - 1].times++;
    }
    qsort(entries, (size_t)different, sizeof *entries, by_times);
    t->size = different < WORDS_MAX ? different : WORDS_MAX;
    numbered table[WORDS_MAX];
    for (int i = 0; i < t->size; i++)
        table[i] = (numbered){t->vocabulary[i] = entries[i].word, i};
    qsort(table, (size_t)t->size, sizeof *table, by_word);
    t->ids = checked(malloc(((size_t)t->count + 1) * sizeof *t->ids));
    for (int i = 0; i < t->count; i++) {
        const numbered *found =
            bsearch(&(numbered){t->words[i], 0}, table, (size_t)t->size, sizeof *table, by_word);
        t->ids[i] = found ? found->id : -1;
    }
    free(entries);
    free(sorted);
}

static void text_free(text *t)
{
    free(t->letters);
    free(t->words);
    free(t->ids);
}

// Pairs of a word and one of its context, from random places of the text.
static void next_batch(const text *t, braid_tensor *centers, braid_tensor *contexts)
{
    int32_t *center = braid_tensor_data(centers);
    int64_t *context = braid_tensor_data(contexts);
    for (int i = 0; i < BATCH;) {
        const int at = rand() % t->count, offset = 1 + rand() % WINDOW,
                  other = rand() % 2 ? at + offset : at - offset;
        if (other < 0 || other >= t->count || t->ids[at] < 0 || t->ids[other] < 0) continue;
        center[i] = t->ids[at];
        context[i++] = t->ids[other];
    }
}

// ---- The model ----

typedef struct model {
    braid_out centers, contexts, loss, vectors;
    braid_op *train;
} model;

static model build_model(braid_graph *g, int words)
{
    model m = {.centers = braid_placeholder(g, "centers", BRAID_INT32, BRAID_SHAPE(BATCH)),
               .contexts = braid_placeholder(g, "contexts", BRAID_INT64, BRAID_SHAPE(BATCH, 1))};
    braid_variable embeddings = braid_variable_get(g, "embeddings", BRAID_FLOAT, BRAID_SHAPE(words, VECTOR),
                                                   braid_random_uniform_initializer(-0.1F, 0.1F), true);
    braid_variable weights =
        braid_variable_get(g, "nce_weights", BRAID_FLOAT, BRAID_SHAPE(words, VECTOR),
                           braid_truncated_normal_initializer(0, 1 / sqrtf(VECTOR)), true);
    braid_variable biases =
        braid_variable_get(g, "nce_biases", BRAID_FLOAT, BRAID_SHAPE(words), braid_zeros_initializer(), true);
    braid_out losses = braid_nce_loss(
        g, &(braid_sampled_loss){.weights = weights,
                                 .biases = biases,
                                 .labels = m.contexts,
                                 .inputs = braid_embedding_lookup(g, embeddings.ref, m.centers),
                                 .num_sampled = words / 3 < 64 ? words / 3 : 64,
                                 .num_classes = words});
    m.loss = braid_reduce_mean(g, losses);
    m.vectors = embeddings.read;
    m.train = braid_minimize(braid_gradient_descent(g, 2), m.loss, braid_global_step(g));
    return m;
}

// ---- Neighbours ----

static double cosine(const float *a, const float *b)
{
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < VECTOR; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

static void print_neighbours(const text *t, const float *vectors, int word)
{
    int shown[NEAREST + 1] = {word};
    printf("%s:", t->vocabulary[word]);
    for (int n = 1; n <= NEAREST && n < t->size; n++) {
        int best = -1;
        double nearness = -2;
        for (int i = 0; i < t->size; i++) {
            bool is_shown = false;
            for (int k = 0; k < n; k++)
                is_shown |= shown[k] == i;
            const double c = cosine(vectors + (size_t)word * VECTOR, vectors + (size_t)i * VECTOR);
            if (!is_shown && c > nearness) {
                nearness = c;
                best = i;
            }
        }
        if (best < 0) break;
        shown[n] = best;
        printf(" %s", t->vocabulary[best]);
    }
    printf("\n");
}

// ---- The program ----

static braid_code train(const text *t, braid_cluster *cluster, braid_server *server, const char *job,
                        int task)
{
    char device[96], task_name[64];
    snprintf(task_name, sizeof task_name, "/job:%s/task:%d", job, task);
    snprintf(device, sizeof device, "%s/cpu:0", task_name);
    braid_graph *g = braid_graph_new();
    braid_push_device_setter(
        g, braid_replica_device_setter(g, cluster, &(braid_device_setter_options){.worker_device = device}));
    const model m = build_model(g, t->size);
    braid_tensor *centers = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH), NULL);
    braid_tensor *contexts = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(BATCH, 1), NULL);
    const char *const filters[] = {"/job:ps", task_name};
    braid_monitored_session *s = braid_monitored_session_open(
        g,
        &(braid_session_config){
            .session = {.server = server, .device_filters = filters, .device_filter_count = server ? 2 : 0},
            .is_chief = braid_is_chief(cluster, job, task),
            .hooks = BRAID_HOOKS(braid_stop_at_step(STEPS), braid_progress(m.loss, STEPS))});
    while (!braid_should_stop(s)) {
        next_batch(t, centers, contexts);
        braid_run(s, BRAID_FEED({m.centers, centers}, {m.contexts, contexts}), NULL, m.train);
    }
    braid_tensor *vectors = NULL;
    if (braid_monitored_session_is_chief(s) && !braid_evaluate(s, NULL, BRAID_FETCH({m.vectors, &vectors})))
        for (int i = 0; i < SHOWN && i < t->size; i++)
            print_neighbours(t, braid_tensor_data(vectors), i);
    braid_tensor_free(vectors);
    braid_tensor_free(centers);
    braid_tensor_free(contexts);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return code;
}

// A task of a cluster, or, without one, the whole program.
static int run_task(const text *t, braid_cluster *cluster, braid_status *status)
{
    const char *job = braid_cluster_this_job(cluster);
    const int task = braid_cluster_this_task(cluster);
    braid_server *server = NULL;
    if (!job) job = "worker";
    if (braid_cluster_num_jobs(cluster) > 0) {
        server = braid_server_start(cluster, job, task, NULL, status);
        if (!server) return 1;
        braid_server_stop_on_signals(server);
    }
    int exit_code;
    if (strcmp(job, "ps") == 0)
        exit_code = braid_exit_code(braid_server_join(server, status));
    else {
        srand((unsigned)task + 2);
        exit_code = braid_exit_code(train(t, cluster, server, job, task));
    }
    braid_server_free(server);
    return exit_code;
}

int main(int argc, char **argv)
{
    if (argc > 2 || (argc > 1 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: word2vec [TEXT_FILE]\n");
        return 2;
    }
    text t = {.letters = argc > 1 ? read_file(argv[1]) : make_text()};
    if (!t.letters) {
        perror(argv[1]);
        return 1;
    }
    split(&t);
    number_words(&t);
    int exit_code = 1;
    braid_status *status = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_env(status);
    if (t.size < 10)
        fprintf(stderr, "word2vec: the text needs at least 10 different words\n");
    else if (cluster)
        exit_code = run_task(&t, cluster, status);
    if (braid_status_code(status)) fprintf(stderr, "word2vec: %s\n", braid_status_message(status));
    braid_cluster_free(cluster);
    braid_status_free(status);
    text_free(&t);
    return exit_code;
}
