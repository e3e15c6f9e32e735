// Parsing of op definitions.
#include "base/testing/test.h"
#include "graph/op_parse.h"

typedef struct parse {
    bd_op_def def;
    bd_arena arena;
    bd_attr_tensors tensors;
} parse;

static braid_code parse_op(parse *p, const char *signature, const char *attrs, braid_status *st)
{
    memset(p, 0, sizeof *p);
    return bd_op_def_parse(&p->def, "Op", signature, attrs, &p->arena, &p->tensors, st);
}

static void parse_fini(parse *p)
{
    for (size_t i = 0; i < p->tensors.len; i++)
        braid_tensor_free(p->tensors.items[i]);
    bd_array_free(&p->tensors);
    bd_arena_fini(&p->arena);
}

static void arguments_parse(void **state)
{
    (void)state;
    BD_STATUS(st);
    parse p;
    parse_op(&p, "(a: T, values: N*T, refs: Ref(N*T), xs: Tin..., r: Ref(string), n: N*int32) -> (y: float)",
             "T:type; N:int>=1; Tin:list(type)>=0", st);
    assert_ok(st);
    const bd_arg_def *in = p.def.inputs;
    assert_int_equal(p.def.input_count, 6);
    assert_string_equal(in[0].name, "a");
    assert_string_equal(in[0].type_attr, "T");
    assert_int_equal(in[0].type_attr_index, 0);
    assert_null(in[0].number_attr);
    assert_string_equal(in[1].number_attr, "N");
    assert_int_equal(in[1].number_attr_index, 1);
    assert_true(in[2].is_ref);
    assert_string_equal(in[2].number_attr, "N");
    assert_string_equal(in[3].type_list_attr, "Tin");
    assert_int_equal(in[3].type_list_attr_index, 2);
    assert_true(in[4].is_ref);
    assert_int_equal(in[4].type, BRAID_STRING);
    assert_int_equal(in[4].type_attr_index, -1);
    assert_int_equal(in[5].type, BRAID_INT32);
    assert_int_equal(p.def.output_count, 1);
    assert_int_equal(p.def.outputs[0].type, BRAID_FLOAT);
    parse_fini(&p);
}

static void attrs_parse_with_defaults_and_limits(void **state)
{
    (void)state;
    BD_STATUS(st);
    parse p;
    parse_op(
        &p, "() -> ()",
        "s:string='a;\\n'; p:string{SAME,VALID}='SAME'; q:string{'A','B'}; e:string{,x}=''; i:int>=-2=-1; "
        "f:float=1e-05; inf:float=-inf; b:bool=true; t:type{float,DT_HALF}=DT_FLOAT; all:type{number}; "
        "real:type{realnumber}=half; sh:shape=?; sh2:shape=[2,?]; l:list(int)>=1=[1, -2,3]; "
        "empty:list(shape)>=0=[]; types:list(type){float,string}>=1; fn:func; fns:list(func); "
        "c:tensor=dtype: DT_UINT8 tensor_shape { dim { size: 2 } } int_val: 255 int_val: 0; fl:list(float)=[0.5]; "
        "+late:int=3; ct:list(tensor)=[dtype: DT_INT32 tensor_shape { } int_val: 7]",
        st);
    assert_ok(st);
    const bd_op_def *d = &p.def;
    assert_int_equal(d->attr_count, 22);
    assert_string_equal(bd_op_def_attr(d, "s")->default_value.s.data, "a;\n");
    assert_int_equal(bd_op_def_attr(d, "p")->allowed_string_count, 2);
    assert_string_equal(bd_op_def_attr(d, "p")->allowed_strings[1], "VALID");
    assert_string_equal(bd_op_def_attr(d, "q")->allowed_strings[1], "B");
    assert_false(bd_op_def_attr(d, "q")->has_default);
    assert_string_equal(bd_op_def_attr(d, "e")->allowed_strings[0], "");
    assert_true(bd_op_def_attr(d, "i")->has_minimum);
    assert_int_equal(bd_op_def_attr(d, "i")->minimum, -2);
    assert_int_equal(bd_op_def_attr(d, "i")->default_value.i, -1);
    assert_float_equal(bd_op_def_attr(d, "f")->default_value.f, 1e-5f, 0);
    assert_true(bd_op_def_attr(d, "inf")->default_value.f < -1e38f);
    assert_true(bd_op_def_attr(d, "b")->default_value.b);
    assert_int_equal(bd_op_def_attr(d, "t")->allowed_types,
                     BD_DTYPE_BIT(BRAID_FLOAT) | BD_DTYPE_BIT(BRAID_HALF));
    assert_int_equal(bd_op_def_attr(d, "t")->default_value.type, BRAID_FLOAT);
    assert_int_equal(bd_op_def_attr(d, "all")->allowed_types, bd_dtypes_number);
    assert_int_equal(bd_op_def_attr(d, "real")->allowed_types, bd_dtypes_realnumber);
    assert_int_equal(bd_op_def_attr(d, "sh")->default_value.shape.rank, -1);
    assert_int_equal(bd_op_def_attr(d, "sh2")->default_value.shape.dims[1], -1);
    const bd_attr *list = &bd_op_def_attr(d, "l")->default_value;
    assert_int_equal(list->list.count, 3);
    assert_int_equal(list->list.i[1], -2);
    assert_int_equal(bd_op_def_attr(d, "empty")->default_value.list.count, 0);
    assert_int_equal(bd_op_def_attr(d, "types")->item_kind, BD_ATTR_TYPE);
    assert_int_equal(bd_op_def_attr(d, "fn")->kind, BD_ATTR_FUNC);
    assert_int_equal(bd_op_def_attr(d, "fns")->item_kind, BD_ATTR_FUNC);
    assert_int_equal(((uint8_t *)bd_op_def_attr(d, "c")->default_value.tensor->data)[0], 255);
    assert_true(bd_op_def_attr(d, "late")->is_later && bd_op_def_attr(d, "late")->default_value.i == 3);
    assert_false(bd_op_def_attr(d, "i")->is_later);
    assert_int_equal(bd_tensor_i32(bd_op_def_attr(d, "ct")->default_value.list.tensor[0])[0], 7);
    assert_null(bd_op_def_attr(d, "none"));
    parse_fini(&p);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *signature, *attrs, *words;
    } cases[] = {
        {"(a: T) -> ()", NULL, "element type"},
        {"(a: N*float) -> ()", NULL, "an int attr"},
        {"(a: xs...) -> ()", "xs:type", "list(type)"},
        {"(a: float -> ()", NULL, "expected )"},
        {"a: float) -> ()", NULL, "expected ("},
        {"() ()", NULL, "->"},
        {"() -> () x", NULL, "the end"},
        {"() -> ()", "a", "name:type"},
        {"() -> ()", "a:integer", "an attr type"},
        {"() -> ()", "a:int=x", "an integer"},
        {"() -> ()", "a:bool=yes", "true or false"},
        {"() -> ()", "a:string=x", "a quoted string"},
        {"() -> ()", "a:string='x", "end of a string"},
        {"() -> ()", "a:type{foo}", "an element type"},
        {"() -> ()", "a:int{1,2}", "no set of values"},
        {"() -> ()", "a:float>=1", "no minimum"},
        {"() -> ()", "a:int; a:int", "no attr twice"},
        {"() -> ()", "a:int b:int", "; or the end"},
        {"() -> ()", "a:list(int)=[1", "expected ]"},
        {"() -> ()", "a:shape=[x]", "a shape"},
        {"() -> ()", "a:func='f'", "can have a default"},
        {"() -> ()", "a:list(int)=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "a shorter list"},
    };
    BD_STATUS(st);
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        parse p;
        parse_op(&p, cases[i].signature, cases[i].attrs, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].words);
        parse_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_parse),
        cmocka_unit_test(attrs_parse_with_defaults_and_limits),
        cmocka_unit_test(mistakes_are_named),
    };
    return BD_RUN_TESTS(tests);
}
