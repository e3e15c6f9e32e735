// Tests of the ops that hash, cut, split, join and print strings.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// Values of TensorFlow's own tests of these ops.
static void hashes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StringToHashBucketFast", "num_buckets=10", "string[4] a b c d", "int64[4] 9 2 2 5"},
        {"StringToHashBucketFast", "num_buckets=1", "string[1,3] a b c", "int64[1,3] 0 0 0"},
        {"StringToHashBucketFast", "num_buckets=3", "string[0]", "int64[0]"},
        // 0x9ae16a3b2f90404f % 1000
        {"StringToHashBucketFast", "num_buckets=1000", "string[] ''", "int64[] 263"},
        {"StringToHashBucketStrong", "num_buckets=10; key=[98765,132]", "string[3] a b c", "int64[3] 4 2 8"},
        {"StringToHashBucketStrong", "num_buckets=10; key=[98765]", "string[] a",
         "InvalidArgument: Key must have 2 elements"},
        {"StringToHashBucket", "num_buckets=10", "string[3] a b c", "int64[3] 8 0 7"},
        {"StringToHashBucket", "num_buckets=10", "string[] a", "int64[] 8"},
        {"StringToHashBucket", "num_buckets=10", "string[0,2]", "int64[0,2]"},
        {"StringToHashBucketStrong", "num_buckets=10; key=[98765,132]", "string[0]", "int64[0]"},
        {"StringToHashBucketFast", "num_buckets=0", "string[] a", "InvalidArgument: num_buckets"},
        {"StringToHashBucket", "num_buckets=0", "string[] a", "InvalidArgument: num_buckets"},
    };
    OP_TEST_VALUES(cases);
}

static void lengths_case_and_blanks_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StringLength", NULL,
         "string[3] '' abc \xC3\xA4"
         "b",
         "int32[3] 0 3 3"},
        {"StringLength", "unit=UTF8_CHAR",
         "string[3] \xC3\xA4"
         "b \xF0\x9F\x98\x80 abc",
         "int32[3] 2 1 3"},
        {"StringLower", NULL, "string[2] AbC[\xC3\x84 ''", "string[2] abc[\xC3\x84 ''"},
        {"StringLower", "encoding=utf-8", "string[] \xC3\x84X", "string[] \xC3\xA4x"},
        {"StringUpper", NULL, "string[] abz{1", "string[] ABZ{1"},
        // Python: 'straße'.upper()
        {"StringUpper", "encoding=utf-8",
         "string[] stra\xC3\x9F"
         "e",
         "string[] STRASSE"},
        {"StringUpper", "encoding=utf-8", "string[] a\\xff", "string[] A\xEF\xBF\xBD"},
        {"StringUpper", "encoding=latin1", "string[] a",
         "InvalidArgument: only utf-8 or '' (no encoding) is supported, received latin1"},
        {"StringStrip", NULL, "string[4] \\x20a\\x20b\\x0a \\x09 '' x", "string[4] a\\x20b '' '' x"},
        {"StringLength", NULL, "string[] abc", "int32[] 3"},
        {"StringLength", NULL, "string[0,2]", "int32[0,2]"},
        {"StringLength", "unit=UTF16_CHAR", "string[] abc", "InvalidArgument: unit"},
        {"StringLower", NULL, "string[0]", "string[0]"},
        {"StringLower", "encoding=utf-8", "string[2,0]", "string[2,0]"},
        {"StringLower", "encoding=latin1", "string[] a",
         "InvalidArgument: only utf-8 or '' (no encoding) is supported, received latin1"},
        {"StringUpper", NULL, "string[0]", "string[0]"},
        {"StringStrip", NULL, "string[] \\x20a", "string[] a"},
        {"StringStrip", NULL, "string[0]", "string[0]"},
        {"StringStrip", NULL, "float[2] 1", "InvalidArgument: float"},
    };
    OP_TEST_VALUES(cases);
}

// Python: base64.urlsafe_b64encode.
static void base64_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"EncodeBase64", NULL, "string[4] '' a ab abc", "string[4] '' YQ YWI YWJj"},
        {"EncodeBase64", "pad=true", "string[4] '' a ab abcd", "string[4] '' YQ== YWI= YWJjZA=="},
        {"EncodeBase64", NULL, "string[] \\xfb\\xef\\xff\\x00", "string[] --__AA"},
        {"EncodeBase64", NULL, "string[0,3]", "string[0,3]"},
        {"EncodeBase64", NULL, "int32[] 1", "InvalidArgument: int32"},
        {"DecodeBase64", NULL, "string[2,0]", "string[2,0]"},
        {"DecodeBase64", NULL, "string[6] '' YQ YQ== YWI= YWJj YWJjZA", "string[6] '' a a ab abc abcd"},
        {"DecodeBase64", NULL, "string[] --__", "string[] \\xfb\\xef\\xff"},
        {"DecodeBase64", NULL, "string[] YWJjZ", "InvalidArgument: cannot be 1 modulo 4"},
        {"DecodeBase64", NULL, "string[] Y===", "InvalidArgument: Invalid character"},
        {"DecodeBase64", NULL, "string[] ab+/", "InvalidArgument: Invalid character found in base64."},
    };
    OP_TEST_VALUES(cases);
}

// Values of TensorFlow's own tests and of Python's slices.
static void substr_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Substr", NULL, "string[2] Hello World; int32[] 1; int32[] 3", "string[2] ell orl"},
        {"Substr", NULL, "string[2] Hello World; int64[] -3; int64[] 2", "string[2] ll rl"},
        {"Substr", NULL, "string[] Hello; int32[] 5; int32[] 3", "string[] ''"},
        {"Substr", NULL, "string[] Hello; int32[] 3; int32[] 100", "string[] lo"},
        {"Substr", NULL, "string[] Hello; int32[] 1; int32[] -1", "string[] ello"},
        {"Substr", NULL, "string[2] abcd wxyz; int32[2] 0 1; int32[2] 2 3", "string[2] ab xyz"},
        {"Substr", NULL, "string[2,2] abc def ghi jkl; int32[2] 0 1; int32[2] 1 2", "string[2,2] a ef g kl"},
        {"Substr", NULL, "string[] abcdef; int32[3] 0 2 4; int32[3] 2", "string[3] ab cd ef"},
        {"Substr", NULL, "string[2,1] abc xyz; int32[3] 0 1 2; int32[3] 1", "string[2,3] a b c x y z"},
        {"Substr", NULL, "string[0]; int32[] 0; int32[] 1", "string[0]"},
        {"Substr", NULL, "string[] abc; int32[] 4; int32[] 1",
         "InvalidArgument: pos 4 out of range for string b'abc' at index 0"},
        {"Substr", NULL, "string[] abc; int32[] -4; int32[] 1", "InvalidArgument: pos -4 out of range"},
        {"Substr", NULL, "string[] abc; int64[] -9223372036854775808; int64[] -9223372036854775808",
         "InvalidArgument: out of range"},
        {"Substr", NULL, "string[3] a b c; int32[2] 0 0; int32[2] 1 1",
         "InvalidArgument: Incompatible shapes"},
        {"Substr", NULL, "string[1] a; int32[1] 0; int32[] 1",
         "InvalidArgument: pos and len should have the same shape, got: [1] vs. []"},
        {"Substr", "unit=UTF8_CHAR",
         "string[] \xC3\xA4\xE2\x82\xAC"
         "b; int32[] 1; int32[] 1",
         "string[] \xE2\x82\xAC"},
        {"Substr", "unit=UTF8_CHAR",
         "string[] \xC3\xA4\xE2\x82\xAC"
         "b; int32[] -2; int32[] 1",
         "string[] \xE2\x82\xAC"},
        {"Substr", "unit=UTF8_CHAR",
         "string[] \xC3\xA4\xE2\x82\xAC"
         "b; int32[] -3; int32[] 9",
         "string[] \xC3\xA4\xE2\x82\xAC"
         "b"},
        {"Substr", "unit=UTF8_CHAR",
         "string[] \xC3\xA4"
         "b; int32[] 2; int32[] 1",
         "string[] ''"},
        {"Substr", "unit=UTF8_CHAR",
         "string[] \xC3\xA4"
         "b; int32[] 3; int32[] 1",
         "InvalidArgument: pos 3 out of range for string at index 0"},
        {"Substr", "unit=UTF8_CHAR",
         "string[] \xC3\xA4"
         "b; int32[] -3; int32[] 1",
         "InvalidArgument: pos -3"},
    };
    OP_TEST_VALUES(cases);
}

// The second form: Python's str.split.
static void split_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StringSplit", NULL, "string[3] a\\x20bc '' \\x20\\x20d; string[] \\x20",
         "int64[3,2] 0 0 0 1 2 0; string[3] a bc d; int64[2] 3 2"},
        {"StringSplit", "skip_empty=false", "string[2] a,,b ,; string[] ,",
         "int64[5,2] 0 0 0 1 0 2 1 0 1 1; string[5] a '' b '' ''; int64[2] 2 3"},
        {"StringSplit", "skip_empty=false", "string[2] '' a; string[] ,",
         "int64[1,2] 1 0; string[1] a; int64[2] 2 1"},
        {"StringSplit", NULL, "string[1] a|b,c; string[] ,|",
         "int64[3,2] 0 0 0 1 0 2; string[3] a b c; int64[2] 1 3"},
        {"StringSplit", NULL, "string[1] ab; string[] ''", "int64[2,2] 0 0 0 1; string[2] a b; int64[2] 1 2"},
        {"StringSplit", NULL, "string[0]; string[] ,", "int64[0,2]; string[0]; int64[2] 0 0"},
        {"StringSplit", NULL, "string[] a; string[] ,",
         "InvalidArgument: input must be a vector, got shape: []"},
        {"StringSplit", NULL, "string[1] a; string[1] ,",
         "InvalidArgument: delimiter must be a scalar, got shape: [1]"},
        {"StringSplitV2", NULL, "string[2] 1<>2<><>3 ''; string[] <>",
         "int64[5,2] 0 0 0 1 0 2 0 3 1 0; string[5] 1 2 '' 3 ''; int64[2] 2 4"},
        {"StringSplitV2", NULL, "string[2] \\x201\\x20\\x09\\x202\\x20 ''; string[] ''",
         "int64[2,2] 0 0 0 1; string[2] 1 2; int64[2] 2 2"},
        {"StringSplitV2", "maxsplit=1", "string[1] a,b,c; string[] ,",
         "int64[2,2] 0 0 0 1; string[2] a b,c; int64[2] 1 2"},
        {"StringSplitV2", "maxsplit=1", "string[1] \\x20a\\x20\\x20b\\x20c; string[] ''",
         "int64[2,2] 0 0 0 1; string[2] a b\\x20c; int64[2] 1 2"},
        {"StringSplitV2", "maxsplit=0", "string[1] a,b; string[] ,",
         "int64[1,2] 0 0; string[1] a,b; int64[2] 1 1"},
        {"StringSplitV2", NULL, "string[0]; string[] ,", "int64[0,2]; string[0]; int64[2] 0 0"},
        {"StringSplitV2", NULL, "string[2] '' \\x20; string[] ''", "int64[0,2]; string[0]; int64[2] 2 0"},
        {"StringSplitV2", NULL, "string[] a; string[] ,",
         "InvalidArgument: input must be a vector, got shape: []"},
        {"StringSplitV2", NULL, "string[1] a; string[1] ,",
         "InvalidArgument: sep must be a scalar, got shape: [1]"},
    };
    OP_TEST_VALUES(cases);
}

// Values of TensorFlow's documentation.
static void reduce_join_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ReduceJoin", NULL, "string[2,2] a b c d; int32[] 0", "string[2] ac bd"},
        {"ReduceJoin", NULL, "string[2,2] a b c d; int32[] -1", "string[2] ab cd"},
        {"ReduceJoin", "keep_dims=true", "string[2,2] a b c d; int32[] 0", "string[1,2] ac bd"},
        {"ReduceJoin", "separator=.", "string[2,2] a b c d; int32[] 0", "string[2] a.c b.d"},
        {"ReduceJoin", NULL, "string[2,2] a b c d; int32[2] 0 1", "string[] acbd"},
        {"ReduceJoin", NULL, "string[2,2] a b c d; int32[2] 1 0", "string[] abcd"},
        {"ReduceJoin", NULL, "string[2] a b; int32[0]", "string[2] a b"},
        {"ReduceJoin", "separator=,", "string[2,0]; int32[] 1", "string[2] '' ''"},
        {"ReduceJoin", NULL, "string[2] a b; int32[] 1",
         "OutOfRange: Invalid reduction dimension 1 for input with 1 dimension(s)"},
        {"ReduceJoin", NULL, "string[2] a b; int32[2] 0 -1",
         "InvalidArgument: Duplicate reduction dimension -1"},
    };
    OP_TEST_VALUES(cases);
}

static void segment_join_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"UnsortedSegmentJoin", "separator=:", "string[4] a b c d; int32[4] 1 0 1 0; int32[] 3",
         "string[3] b:d a:c ''"},
        {"UnsortedSegmentJoin", NULL, "string[2,2] a b c d; int64[2] 0 0; int32[] 1", "string[1,2] ac bd"},
        // A separator follows only a non-empty string.
        {"UnsortedSegmentJoin", "separator=,", "string[3] '' b ''; int32[3] 0 0 0; int32[] 1",
         "string[1] b,"},
        {"UnsortedSegmentJoin", NULL, "string[0,2]; int32[0]; int32[] 2", "string[2,2] '' '' '' ''"},
        {"UnsortedSegmentJoin", NULL, "string[2,0]; int32[2] 0; int32[] 2", "string[2,0]"},
        {"UnsortedSegmentJoin", NULL, "string[1] a; int32[1] 0; int32[] 0",
         "InvalidArgument: segment_ids are not allowed to exceed num_segments"},
        {"UnsortedSegmentJoin", NULL, "string[0]; int32[0]; int32[] 0", "string[0]"},
        {"UnsortedSegmentJoin", NULL, "string[1] a; int32[1] 1; int32[] 1",
         "InvalidArgument: segment_ids are not allowed to exceed num_segments"},
        {"UnsortedSegmentJoin", NULL, "string[1] a; int32[1] -1; int32[] 1",
         "InvalidArgument: to have negative values"},
        {"UnsortedSegmentJoin", NULL, "string[1] a; int32[] 0; int32[] 1",
         "InvalidArgument: Segment_id cannot have rank 0"},
        {"UnsortedSegmentJoin", NULL, "string[1] a; int32[1] 0; int32[] -1", "InvalidArgument: -1"},
        {"UnsortedSegmentJoin", NULL, "string[1] a; int32[1] 0; int64[] 1152921504606846976",
         "ResourceExhausted: OOM"},
    };
    OP_TEST_VALUES(cases);
}

// Values of TensorFlow's own tests.
static void ngrams_follow_the_definition(void **state)
{
    (void)state;
#define PADS "separator=|; left_pad=LP; right_pad=RP; "
    static const op_case cases[] = {
        {"StringNGrams", PADS "ngram_widths=[3]; pad_width=-1; preserve_short_sequences=false",
         "string[6] aa bb cc dd ee ff; int64[3] 0 4 6",
         "string[10] LP|LP|aa LP|aa|bb aa|bb|cc bb|cc|dd cc|dd|RP dd|RP|RP LP|LP|ee LP|ee|ff ee|ff|RP ff|RP|RP; "
         "int64[3] 0 6 10"},
        {"StringNGrams", PADS "ngram_widths=[3]; pad_width=0; preserve_short_sequences=false",
         "string[6] aa bb cc dd ee ff; int64[3] 0 4 6", "string[2] aa|bb|cc bb|cc|dd; int64[3] 0 2 2"},
        {"StringNGrams", PADS "ngram_widths=[3]; pad_width=0; preserve_short_sequences=true",
         "string[6] aa bb cc dd ee ff; int32[3] 0 4 6", "string[3] aa|bb|cc bb|cc|dd ee|ff; int32[3] 0 2 3"},
        {"StringNGrams", PADS "ngram_widths=[2,3]; pad_width=0; preserve_short_sequences=false",
         "string[3] a b c; int64[2] 0 3", "string[3] a|b b|c a|b|c; int64[2] 0 3"},
        {"StringNGrams", PADS "ngram_widths=[3]; pad_width=1; preserve_short_sequences=false",
         "string[1] a; int64[3] 0 0 1", "string[1] LP|a|RP; int64[3] 0 0 1"},
        {"StringNGrams", PADS "ngram_widths=[2]; pad_width=0; preserve_short_sequences=false",
         "string[0]; int64[2] 0 0", "string[0]; int64[2] 0 0"},
        {"StringNGrams", PADS "ngram_widths=[0]; pad_width=0; preserve_short_sequences=false",
         "string[0]; int64[2] 0 0", "InvalidArgument: ngram_widths must contain positive values"},
        {"StringNGrams", PADS "ngram_widths=[2]; pad_width=0; preserve_short_sequences=false",
         "string[1] a; int64[2] 1 1", "InvalidArgument: First split value must be 0, got 1"},
        {"StringNGrams", PADS "ngram_widths=[2]; pad_width=0; preserve_short_sequences=false",
         "string[1] a; int64[3] 0 9 1", "InvalidArgument: Invalid split value 9, must be in [0, 1]"},
        {"StringNGrams", PADS "ngram_widths=[2]; pad_width=0; preserve_short_sequences=false",
         "string[2] a b; int64[2] 0 1",
         "InvalidArgument: Last split value must be data size. Expected 2, got 1"},
        {"StringNGrams", PADS "ngram_widths=[1073741825]; pad_width=-1; preserve_short_sequences=false",
         "string[2] a b; int64[2] 0 2",
         "InvalidArgument: Pad width could lead to integer overflow, got pad_width = 1073741824"},
        {"StringNGrams", PADS "ngram_widths=[65537]; pad_width=0; preserve_short_sequences=false",
         "string[2] a b; int64[2] 0 2", "InvalidArgument: ngram_widths must be at most 65536: 65537"},
    };
    OP_TEST_VALUES(cases);
}

static void format_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"StringFormat", "template=x=%s\\x3by=%s", "int32[2] 1 2; float[] 0.1",
         "string[] x=[1\\x202]\\x3by=0.1"},
        {"StringFormat", "template={}; placeholder={}; summarize=1", "int32[2,3] 1 2 3 4 5 6",
         "string[] [[1\\x20...\\x203]\\x0a\\x20[4\\x20...\\x206]]"},
        {"StringFormat", "template={}; placeholder={}; summarize=-1", "int32[4] 1 2 3 4",
         "string[] [1\\x202\\x203\\x204]"},
        {"StringFormat", "template={}; placeholder={}; summarize=1", "bool[3] true false true",
         "string[] [1\\x20...\\x201]"},
        {"StringFormat", NULL, "string[1] a", "string[] [\"a\"]"},
        {"StringFormat", NULL, "float[3] 16777216 nan -inf", "string[] [16777216\\x20nan\\x20-inf]"},
        {"StringFormat", NULL, "int32[0]", "string[] []"},
        {"StringFormat", "template=a%sb%s", "int32[] 1",
         "InvalidArgument: num placeholders in template and num inputs must match: 2 vs. 1"},
    };
    OP_TEST_VALUES(cases);
}

// Values by Python's re, where its syntax is RE2's.
static void regex_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RegexReplace", NULL, "string[2] abcabc xyz; string[] b.; string[] _", "string[2] a_a_ xyz"},
        {"RegexReplace", "replace_global=false", "string[] abcabc; string[] b; string[] _",
         "string[] a_cabc"},
        {"RegexReplace", NULL, "string[] ab; string[] (.)(.); string[] \\x5c2\\x5c1", "string[] ba"},
        {"RegexReplace", NULL, "string[] ab; string[] (.); string[] \\x5c7", "string[] ab"},
        {"RegexReplace", NULL, "string[0]; string[] a; string[] b", "string[0]"},
        {"RegexReplace", NULL, "string[] a; string[] (; string[] b",
         "InvalidArgument: Invalid pattern: (, error: missing )"},
        {"RegexReplace", NULL, "string[] a; string[1] b; string[] b",
         "InvalidArgument: Pattern must be scalar, but received [1]"},
        {"RegexReplace", NULL, "string[] a; string[] b; string[1] b",
         "InvalidArgument: Rewrite must be scalar, but received [1]"},
        {"StaticRegexReplace", "pattern=a+; rewrite=x", "string[1,2] baab c", "string[1,2] bxb c"},
        {"StaticRegexReplace", "pattern=a**; rewrite=x", "string[] a",
         "InvalidArgument: Invalid pattern: a**"},
        {"RegexFullMatch", NULL, "string[3] ab abc ''; string[] ab?c?", "bool[3] true true false"},
        {"RegexFullMatch", NULL, "string[0,2]; string[] a", "bool[0,2]"},
        {"RegexFullMatch", NULL, "string[] a; string[1] a",
         "InvalidArgument: Pattern must be scalar, but received [1]"},
        {"RegexFullMatch", NULL, "string[] a; string[] (",
         "InvalidArgument: Invalid pattern: (, error: missing )"},
        {"StaticRegexFullMatch", "pattern=a", "string[0]", "bool[0]"},
        {"StaticRegexFullMatch", "pattern=(", "string[] a",
         "InvalidArgument: Invalid pattern: (, error: missing )"},
        {"StaticRegexReplace", "pattern=a; rewrite=x", "string[0]", "string[0]"},
        {"StaticRegexFullMatch", "pattern=[0-9]*", "string[3] 123 12a ''", "bool[3] true false true"},
        {"StaticRegexFullMatch", "pattern=(a*)*b", "string[] aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
         "bool[] false"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"StringToHashBucketFast", "num_buckets=3", "string[2,?]", "[2,?]"},
        {"StringLength", NULL, "string[?,3]", "[?,3]"},
        {"Substr", NULL, "string[2,1]; int32[3]; int32[3]", "[2,3]"},
        {"Substr", NULL, "string[2]; int32[3]; int32[2]",
         "InvalidArgument: pos and len shapes must match: [3] vs. [2]"},
        {"StringSplit", NULL, "string[2]; string[]", "[?,2]; [?]; [2]"},
        {"StringSplitV2", NULL, "string[]; string[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ReduceJoin", NULL, "string[2,3]; int32[] 1", "[2]"},
        {"UnsortedSegmentJoin", NULL, "string[4,5]; int32[4]; int32[] 3", "[3,5]"},
        {"UnsortedSegmentJoin", NULL, "string[4,5]; int32[4]; int32[]", "[?,5]"},
        {"StringNGrams",
         "separator=; ngram_widths=[2]; left_pad=; right_pad=; pad_width=0; preserve_short_sequences=false",
         "string[4]; int64[3]", "[?]; [3]"},
        {"StringNGrams",
         "separator=; ngram_widths=[2]; left_pad=; right_pad=; pad_width=0; preserve_short_sequences=false",
         "string[]; int64[3]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"StringNGrams",
         "separator=; ngram_widths=[2]; left_pad=; right_pad=; pad_width=0; preserve_short_sequences=false",
         "string[4]; int64[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"StringFormat", NULL, "float?", "[]"},
        {"RegexReplace", NULL, "string[2]; string[]; string[]", "[2]"},
        {"RegexFullMatch", NULL, "string[2]; string[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"PrintV2", NULL, "string[2]", "InvalidArgument: input must be a scalar, but has rank: 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_follow_the_definition),
        cmocka_unit_test(lengths_case_and_blanks_follow_the_definition),
        cmocka_unit_test(base64_follows_its_definition),
        cmocka_unit_test(substr_follows_its_definition),
        cmocka_unit_test(split_follows_its_definition),
        cmocka_unit_test(reduce_join_follows_its_definition),
        cmocka_unit_test(segment_join_follows_its_definition),
        cmocka_unit_test(ngrams_follow_the_definition),
        cmocka_unit_test(format_follows_its_definition),
        cmocka_unit_test(regex_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
