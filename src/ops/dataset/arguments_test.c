// Tests of the arguments of dataset ops and iterator ops. Each row runs as it is, and then with one argument
// after another in a wrong form: a vector, an empty tensor, a value that is not a dataset, a handle of
// another kind.
// labels: concurrent
#include "base/testing/test.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>

typedef struct argument_case {
    const char *op, *attrs; // besides output_types and output_shapes
    const char *
        // one character for each dataset. A digit: int64 elements, that number of them; b: elements (int64,
        // bool), s: string[0], v: int64[1]
        datasets;
    // "name value; name value" in the order of the inputs. `int64[] 2` is a scalar; `*name value` may have
    // other shapes and is not replaced; `^name value` is a vector; no shape function checks `+name value`;
    // `name @MakerOp attr=value, attr=value` is a handle.
    const char *arguments;
    const char *types; // of an element; NULL: int64
} argument_case;

#define FILES "*filenames string[1] /nowhere"
#define SEEDS "seed int64[] 1; seed2 int64[] 2"
#define SEEDS_AND_GENERATOR SEEDS "; seed_generator @DummySeedGenerator"
#define STATS "tag string[] t"
#define POOL "thread_pool @ThreadPoolHandle num_threads=1, display_name=p"
#define AGGREGATOR "stats_aggregator @StatsAggregatorHandle; +tag string[] t; +counter_prefix string[] p"
#define CSV                                                                                                  \
    FILES                                                                                                    \
    "; compression_type string[] \"\"; buffer_size int64[] 9; header bool[] false; field_delim string[] ,; " \
    "use_quote_delim bool[] true; na_value string[] \"\"; *select_cols int64[0]; "
#define EXAMPLE "sparse_keys=[]; dense_keys=[i]; sparse_types=[]; Tdense=[int64]; dense_shapes=[[]]"

// As many names as the table of ops has that behave alike.
#define ALSO(OP, ...)                                                                                        \
    {OP, __VA_ARGS__},                                                                                       \
    {                                                                                                        \
        "Experimental" OP, __VA_ARGS__                                                                       \
    }

static const argument_case cases[] = {
    {"RangeDataset", NULL, "", "start int64[] 0; stop int64[] 3; step int64[] 1"},
    ALSO("RandomDataset", NULL, "", SEEDS),
    {"RandomDatasetV2", NULL, "", SEEDS_AND_GENERATOR},
    {"TextLineDataset", NULL, "", FILES "; compression_type string[] GZIP; buffer_size int64[] 9", "string"},
    {"TFRecordDataset", NULL, "", FILES "; compression_type string[] ZLIB; buffer_size int64[] 9", "string"},
    {"TFRecordDatasetV2", NULL, "",
     FILES "; compression_type string[] ZLIB; buffer_size int64[] 9; *byte_offsets int64[0]", "string"},
    {"FixedLengthRecordDataset", NULL, "",
     FILES "; header_bytes int64[] 0; record_bytes int64[] 1; footer_bytes int64[] 0; buffer_size int64[] 9",
     "string"},
    {"FixedLengthRecordDatasetV2", NULL, "",
     FILES "; header_bytes int64[] 0; record_bytes int64[] 1; footer_bytes int64[] 0; buffer_size int64[] 9; "
           "compression_type string[] GZIP",
     "string"},
    ALSO("CSVDataset", NULL, "", CSV "*record_defaults int64[0]"),
    {"CSVDatasetV2", NULL, "", CSV "*record_defaults int64[0]; *exclude_cols int64[0]"},
    ALSO("LMDBDataset", "output_types=[string,string]; output_shapes=[[],[]]", "", FILES, "string,string"),
    ALSO("SqlDataset", "output_shapes=[[]]", "",
         "driver_name string[] sqlite; data_source_name string[] :memory:; query string[] x"),
    {"TakeDataset", NULL, "3", "count int64[] 2"},
    {"SkipDataset", NULL, "3", "count int64[] 2"},
    {"RepeatDataset", NULL, "3", "count int64[] 2"},
    {"ShardDataset", NULL, "3", "num_shards int64[] 2; index int64[] 1"},
    ALSO("AutoShardDataset", NULL, "3", "num_workers int64[] 2; index int64[] 1"),
    {"BatchDataset", NULL, "3", "batch_size int64[] 2"},
    {"BatchDatasetV2", NULL, "3", "batch_size int64[] 2; drop_remainder bool[] true"},
    {"ParallelBatchDataset", NULL, "3",
     "batch_size int64[] 2; num_parallel_calls int64[] 2; drop_remainder bool[] true"},
    {"PaddedBatchDataset", NULL, "3",
     "batch_size int64[] 2; *padded_shapes int64[0]; *padding_values int64[] 0"},
    {"PaddedBatchDatasetV2", NULL, "3",
     "batch_size int64[] 2; *padded_shapes int64[0]; *padding_values int64[] 0; +drop_remainder bool[] true"},
    ALSO("RebatchDataset", NULL, "3", "+num_replicas int64[] 2"),
    {"RebatchDatasetV2", NULL, "3", "*batch_sizes int64[1] 2; +drop_remainder bool[] true"},
    {"ShuffleDataset", NULL, "3", "buffer_size int64[] 2; " SEEDS},
    {"ShuffleDatasetV2", NULL, "3", "buffer_size int64[] 2; seed_generator @AnonymousRandomSeedGenerator"},
    {"ShuffleDatasetV3", NULL, "3", "buffer_size int64[] 2; " SEEDS_AND_GENERATOR},
    {"ShuffleAndRepeatDataset", NULL, "3", "buffer_size int64[] 2; " SEEDS "; count int64[] 2"},
    {"ShuffleAndRepeatDatasetV2", NULL, "3",
     "buffer_size int64[] 2; " SEEDS "; count int64[] 2; seed_generator @DummySeedGenerator"},
    {"PrefetchDataset", NULL, "3", "buffer_size int64[] 2"},
    {"CacheDataset", NULL, "3", "filename string[] \"\""},
    {"CacheDatasetV2", NULL, "3", "filename string[] \"\"; cache @DummyMemoryCache"},
    {"WindowDataset", NULL, "3",
     "size int64[] 2; shift int64[] 2; stride int64[] 2; drop_remainder bool[] true", "variant"},
    ALSO("SlidingWindowDataset", NULL, "3",
         "window_size int64[] 2; window_shift int64[] 2; window_stride int64[] 2"),
    ALSO("DenseToSparseBatchDataset", NULL, "3", "batch_size int64[] 2; *row_shape int64[0]", "variant"),
    {"SamplingDataset", NULL, "3", "rate float[] 0.5; " SEEDS},
    {"AssertCardinalityDataset", NULL, "3", "cardinality int64[] 3"},
    ALSO("MaxIntraOpParallelismDataset", NULL, "3", "max_intra_op_parallelism int64[] 1"),
    ALSO("PrivateThreadPoolDataset", NULL, "3", "num_threads int64[] 1"),
    ALSO("ThreadPoolDataset", NULL, "3", POOL),
    ALSO("SleepDataset", NULL, "3", "sleep_microseconds int64[] 1"),
    ALSO("LatencyStatsDataset", NULL, "3", STATS),
    ALSO("BytesProducedStatsDataset", NULL, "3", STATS),
    ALSO("SetStatsAggregatorDataset", NULL, "3", AGGREGATOR),
    ALSO("UniqueDataset", NULL, "3", ""),
    ALSO("UnbatchDataset", NULL, "v", ""),
    ALSO("IgnoreErrorsDataset", NULL, "3", ""),
    ALSO("NonSerializableDataset", NULL, "3", ""),
    {"ModelDataset", NULL, "3", ""},
    {"FinalizeDataset", NULL, "3", ""},
    {"OptionsDataset", "serialized_options=x", "3", ""},
    {"GetOptions", NULL, "3", ""},
    ALSO("AssertNextDataset", NULL, "3", "^transformations string[1] Map"),
    {"AssertPrevDataset", NULL, "3", "^transformations string[1] Map"},
    {"OptimizeDataset", NULL, "3", "^optimizations string[1] noop"},
    {"OptimizeDatasetV2", NULL, "3",
     "^optimizations_enabled string[1] noop; ^optimizations_disabled string[0]; ^optimizations_default string[0]"},
    {"RewriteDataset", NULL, "3", "+rewrite_name string[] replicate_on_split"},
    {"FilterByLastComponentDataset", NULL, "b", ""},
    {"ConcatenateDataset", NULL, "33", ""},
    {"ZipDataset", NULL, "33", "", "int64,int64"},
    ALSO("ChooseFastestDataset", "num_experiments=1", "33", ""),
    ALSO("DirectedInterleaveDataset", "N=2", "333", ""),
    ALSO("ParseExampleDataset", EXAMPLE, "s", "+num_parallel_calls int64[] 1; *dense_defaults int64[0]"),
    {"ParseExampleDatasetV2", EXAMPLE, "s", "+num_parallel_calls int64[] 1; *dense_defaults int64[0]"},
    ALSO("DatasetCardinality", NULL, "3", ""),
    {"WrapDatasetVariant", NULL, "3", ""},
    {"UnwrapDatasetVariant", NULL, "3", ""},
    {"DatasetToSingleElement", NULL, "1", ""},
    {"MultiDeviceIteratorInit", NULL, "3",
     "multi_device_iterator @MultiDeviceIterator devices=[/cpu:0], shared_name='', container='', "
     "output_types=[int64], output_shapes=[[]]; +max_buffer_size int64[] 1"},
    {"AnonymousSeedGenerator", NULL, "", SEEDS "; reshuffle bool[] true"},
    {"AnonymousRandomSeedGenerator", NULL, "", SEEDS},
};

// ---- One row ----

enum {
    PARTS_MAX = 16
};

// A row's inputs: the datasets, then `arguments`.
typedef struct parts {
    char text[PARTS_MAX][192]; // of an argument: name and value
    int dataset_count, count;
} parts;

typedef enum change {
    AS_IT_IS,
    VECTOR,
    NO_ELEMENTS,
    OTHER // not a dataset; a handle of another kind
} change;

static void read_parts(const argument_case *c, parts *p)
{
    p->dataset_count = p->count = (int)strlen(c->datasets);
    const char *rest = c->arguments, *piece;
    size_t len;
    while (*c->arguments && bd_split_next(&rest, ';', &piece, &len)) {
        while (len > 0 && *piece == ' ') {
            piece++;
            len--;
        }
        snprintf(p->text[p->count++], sizeof p->text[0], "%.*s", (int)len, piece);
    }
}

static braid_out dataset(op_live *l, char kind)
{
    if (kind == 'b') return pipeline_make(l, "TensorDataset(int64[] 1; bool[] true)", "int64,bool");
    if (kind == 'v') return pipeline_make(l, "TensorDataset(int64[1] 1)", "int64");
    if (kind == 's') return pipeline_make(l, "TensorDataset(string[0])", "string");
    char text[96];
    snprintf(text, sizeof text, "RangeDataset(int64[] 0; int64[] %c; int64[] 1)", kind);
    return pipeline_make(l, text, "int64");
}

static braid_out optional(op_live *l)
{
    return (braid_out){.op = op_test_node(l->graph, "OptionalNone", NULL, NULL, 0)};
}

static braid_out other_dataset(op_live *l, change how)
{
    return how == OTHER ? optional(l) : op_live_placeholder(l, BRAID_VARIANT);
}

static braid_out handle(op_live *l, const char *maker, change how)
{
    if (how != AS_IT_IS)
        return (braid_out){.op = op_test_node(l->graph, "VarHandleOp", "dtype=float; shape=[]", NULL, 0)};
    char op[64], attrs[192];
    size_t len = strcspn(maker, " ");
    snprintf(op, sizeof op, "%.*s", (int)len, maker);
    snprintf(attrs, sizeof attrs, "%s", maker + len);
    for (char *at = attrs; *at; at++)
        if (*at == ',') *at = ';';
    braid_out seeds[2];
    const bd_op_def *def = bd_op_lookup(op);
    for (int i = 0; i < def->input_count; i++)
        seeds[i] = op_live_const(l, "int64[] 1");
    return (braid_out){.op = op_test_node(l->graph, op, attrs[0] ? attrs : NULL, seeds, def->input_count)};
}

// `is_known`: the shape is known when the graph is built.
static braid_out argument(op_live *l, const char *text, change how, bool is_known)
{
    const char *value = strchr(text, ' ') + 1;
    if (*value == '@') return handle(l, value + 1, how);
    if (how == AS_IT_IS) return pipeline_const(l, value);
    char changed[128];
    const char *element = strchr(value, ']') + 1;
    int type_len = (int)strcspn(value, "[");
    const bool is_vector = *text == '^'; // a scalar is wrong there
    if (strcmp(element, " \"\"") == 0) element = " x";
    if (is_vector)
        snprintf(changed, sizeof changed, "%.*s%s", type_len, value, how == VECTOR ? "[] x" : "[0]");
    else if (how == VECTOR)
        snprintf(changed, sizeof changed, "%.*s[2] %s%s", type_len, value, element, element);
    else
        snprintf(changed, sizeof changed, "%.*s[0]", type_len, value);
    return is_known ? op_live_const(l, changed) : op_live_unknown(l, changed);
}

static braid_op *build(op_live *l, const argument_case *c, const parts *p, int changed, change how,
                       bool is_known)
{
    braid_out in[PARTS_MAX];
    for (int i = 0; i < p->count; i++) {
        change here = i == changed ? how : AS_IT_IS;
        if (i >= p->dataset_count)
            in[i] = argument(l, p->text[i], here, is_known);
        else
            in[i] = here == AS_IT_IS ? dataset(l, c->datasets[i]) : other_dataset(l, here);
    }
    char attrs[512] = "";
    const char *types = c->types ? c->types : "int64";
    const bd_op_def *def = bd_op_lookup(c->op);
    const bool has_types = bd_op_def_attr(def, "output_types"),
               has_shapes = bd_op_def_attr(def, "output_shapes");
    snprintf(attrs, sizeof attrs, "%s%s%s%s%s%s%s%s", c->attrs ? c->attrs : "",
             c->attrs && has_shapes ? "; " : "", has_types ? "output_types=[" : "", has_types ? types : "",
             has_types ? "]; " : "", has_shapes ? "output_shapes=[[]" : "",
             has_shapes && strchr(types, ',') ? ",[]" : "", has_shapes ? "]" : "");
    return op_test_node(l->graph, c->op, attrs[0] ? attrs : NULL, in, p->count);
}

static void expect(const argument_case *c, const parts *p, int changed, change how, const char *want)
{
    BD_STATUS(st);
    op_live *l = op_live_new();
    braid_op *node = build(l, c, p, changed, how, false);
    if (braid_graph_status(l->graph, st)) fail_msg("%s: %s", c->op, braid_status_message(st));
    bool is_fed = changed >= 0 && changed < p->dataset_count;
    op_live_run(l, node,
                !is_fed              ? ""
                : how == VECTOR      ? "variant[2]"
                : how == NO_ELEMENTS ? "variant[0]"
                                     : "",
                want);
    op_live_free(l);
}

// Where the shape is known, the graph is refused.
static void expect_no_graph(const argument_case *c, const parts *p, int changed, change how)
{
    BD_STATUS(st);
    op_live *l = op_live_new();
    build(l, c, p, changed, how, true);
    if (braid_graph_status(l->graph, st) != BRAID_INVALID_ARGUMENT ||
        !strstr(braid_status_message(st), "Shape must be rank 0 but is rank 1"))
        fail_msg("%s, argument %s: '%s'", c->op, p->text[changed], braid_status_message(st));
    op_live_free(l);
}

static void check_argument(const argument_case *c, const parts *p, int i)
{
    char want[96];
    const char *text = p->text[i];
    if (i < p->dataset_count) {
        expect(c, p, i, OTHER, "InvalidArgument: Tensor must be a Dataset object.");
        expect(c, p, i, VECTOR, "InvalidArgument: Dataset tensor must be a scalar of dtype DT_VARIANT.");
        expect(c, p, i, NO_ELEMENTS, "InvalidArgument: Dataset tensor must be a scalar of dtype DT_VARIANT.");
    } else if (strchr(text, '@')) {
        expect(c, p, i, OTHER, "InvalidArgument: is a Variable, not a ");
    } else if (*text == '^') {
        snprintf(want, sizeof want, "InvalidArgument: %.*s must be a vector", (int)strcspn(text + 1, " "),
                 text + 1);
        expect(c, p, i, VECTOR, want);
        expect(c, p, i, NO_ELEMENTS, "*");
    } else if (*text != '*') {
        text += *text == '+';
        snprintf(want, sizeof want, "InvalidArgument: %.*s must be a scalar", (int)strcspn(text, " "), text);
        for (change how = VECTOR; how <= NO_ELEMENTS; how++) {
            expect(c, p, i, how, want);
            if (p->text[i][0] != '+') expect_no_graph(c, p, i, how);
        }
    }
}

static void arguments_are_read_and_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        parts p = {.count = 0};
        print_message("%s\n", cases[i].op);
        read_parts(&cases[i], &p);
        expect(&cases[i], &p, -1, AS_IT_IS, bd_op_lookup(cases[i].op)->output_count == 2 ? "*; *" : "*");
        for (int k = 0; k < p.count; k++)
            check_argument(&cases[i], &p, k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_read_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
