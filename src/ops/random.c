// Random numbers: TensorFlow's Philox streams, so that the same seeds give the same values on any number of threads.
//
// The generator belongs to the bound kernel of a node, which lives as long as its session. Each call takes 256 steps of the
// stream for each output, whatever it needs.
#include "graph/grad.h"
#include "kernels/random_fill.h"
#include "ops/element.h"

#define STEPS_PER_OUTPUT 256

typedef struct random_state {
    bd_mutex mu;
    bd_philox generator; // guarded by mu
    const bd_random_kind *kind;
} random_state;

static void random_start(const braid_op *node, random_state *s, const bd_random_kind *kind)
{
    uint64_t seed = (uint64_t)bd_node_attr_int(node, "seed"),
             seed2 = (uint64_t)bd_node_attr_int(node, "seed2");
    if (seed == 0 && seed2 == 0) {
        seed = bd_random_u64();
        seed2 = bd_random_u64();
    }
    s->generator = bd_philox_init(seed, seed2);
    s->kind = kind;
    bd_mutex_init(&s->mu);
}

static void random_destroy(void *state)
{
    bd_mutex_fini(&((random_state *)state)->mu);
}

typedef struct fill_job {
    const bd_random_kind *kind;
    bd_random_fill fill;
} fill_job;

static void fill_part(void *arg, int64_t from, int64_t to)
{
    const fill_job *job = arg;
    job->kind->fill(&job->fill, from, to);
}

// Groups that make a piece of work worth a thread of its own: some 10 us.
#define GROUPS_PER_THREAD 1024

// Fills output 0, of the shape in input 0, from the node's stream.
static void random_output(bd_op_ctx *c, int64_t low, uint64_t range)
{
    random_state *s = c->state;
    braid_shape shape;
    if (!bd_input_shape(c, 0, "shape", &shape)) return;
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    if (!y) return;
    int64_t count = bd_tensor_count(y);
    fill_job job = {.kind = s->kind, .fill = {.out = y->data, .count = count, .low = low, .range = range}};
    bd_mutex_lock(&s->mu);
    job.fill.start = s->generator;
    bd_philox_skip(&s->generator, (uint64_t)count * STEPS_PER_OUTPUT);
    bd_mutex_unlock(&s->mu);
    int64_t groups = (count + s->kind->group - 1) / s->kind->group;
    if (groups > 0) bd_parallel_for(c, groups, GROUPS_PER_THREAD, fill_part, &job);
}

static void random_run(bd_op_ctx *c)
{
    random_output(c, 0, 0);
}

static braid_code random_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    return code ? code : bd_shape_fn_from_input0(c, st);
}

#define DEFINE_CREATE(NAME)                                                                                  \
    static braid_code NAME##_create(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        random_start(node, state, &bd_random_##NAME);                                                        \
        return BRAID_OK;                                                                                     \
    }

DEFINE_CREATE(uniform_f32)
DEFINE_CREATE(uniform_f64)
DEFINE_CREATE(uniform_half)
DEFINE_CREATE(uniform_bfloat16)
DEFINE_CREATE(normal_f32)
DEFINE_CREATE(normal_f64)
DEFINE_CREATE(truncated_f32)
DEFINE_CREATE(truncated_f64)
DEFINE_CREATE(int_i32)
DEFINE_CREATE(int_i64)

#define RANDOM_KERNEL(TYPES, CREATE, RUN, FLAGS)                                                             \
    {                                                                                                        \
        .types = TYPES, .flags = BD_KERNEL_EXPENSIVE | (FLAGS), .state_size = sizeof(random_state),          \
        .create = CREATE, .destroy = random_destroy, .run = RUN                                              \
    }

// Of the 16-bit types normal numbers are those of float; uniform ones have bits of their own.
#define RANDOM_FLOATS(DOC, ...)                                                                              \
    {                                                                                                        \
        .signature = "(shape: T) -> (output: dtype)",                                                        \
        .attrs = "seed:int=0; seed2:int=0; dtype:type{bfloat16,double,float,half}; T:type{int32,int64}",     \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = random_shape,                           \
        .kernels = BD_KERNELS(__VA_ARGS__), .doc = (DOC)                                                     \
    }

BD_OP(RandomUniform) =
    RANDOM_FLOATS("Numbers uniform in [0, 1); with both seeds 0 different in each session.",
                  RANDOM_KERNEL("dtype=float", uniform_f32_create, random_run, 0),
                  RANDOM_KERNEL("dtype=double", uniform_f64_create, random_run, 0),
                  RANDOM_KERNEL("dtype=half", uniform_half_create, random_run, 0),
                  RANDOM_KERNEL("dtype=bfloat16", uniform_bfloat16_create, random_run, 0));
BD_OP(RandomStandardNormal) = RANDOM_FLOATS("Normal numbers of mean 0 and deviation 1.",
                                            RANDOM_KERNEL("dtype=float", normal_f32_create, random_run,
                                                          BD_KERNEL_WIDENS),
                                            RANDOM_KERNEL("dtype=double", normal_f64_create, random_run, 0));
BD_OP(TruncatedNormal) = RANDOM_FLOATS(
    "Normal numbers of mean 0 and deviation 1; those of absolute value 2 and more are drawn again.",
    RANDOM_KERNEL("dtype=float", truncated_f32_create, random_run, BD_KERNEL_WIDENS),
    RANDOM_KERNEL("dtype=double", truncated_f64_create, random_run, 0));

static braid_code random_int_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 0, st);
    return code ? code : random_shape(c, st);
}

static void random_int_run(bd_op_ctx *c)
{
    const char *names[] = {"minval", "maxval"};
    int64_t bounds[2];
    for (int i = 0; i < 2; i++) {
        const braid_tensor *t = bd_input(c, i + 1);
        if (t->shape.rank != 0) {
            char text[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", names[i],
                       bd_shape_str(&t->shape, text));
            return;
        }
        bounds[i] = bd_tensor_index(t, 0);
    }
    if (bounds[0] >= bounds[1]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld", (long long)bounds[0],
                   (long long)bounds[1]);
        return;
    }
    random_output(c, bounds[0], (uint64_t)bounds[1] - (uint64_t)bounds[0]);
}

BD_OP(RandomUniformInt) = {
    .signature = "(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
    .attrs = "seed:int=0; seed2:int=0; Tout:type{int32,int64}; T:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = random_int_shape,
    .kernels = BD_KERNELS(RANDOM_KERNEL("Tout=int32", int_i32_create, random_int_run, 0),
                          RANDOM_KERNEL("Tout=int64", int_i64_create, random_int_run, 0)),
    .doc = "Integers uniform in [minval, maxval), with the slight bias of a modulus.",
};
