// Graphs and libraries of functions as text, from short forms; and some functions that tests share.
#ifndef BD_TESTS_FUNCTION_TEXT_H
#define BD_TESTS_FUNCTION_TEXT_H

// Text of a GraphDef, one macro a form. ARG and the like stand within a signature, NODE within a function.
#define FUNCTION(NAME, SIGNATURE, BODY) "function { signature { name: '" NAME "' " SIGNATURE " } " BODY " } "
#define STATEFUL "is_stateful: true "
#define IN(NAME) "input_arg { name: '" NAME "' type: DT_FLOAT } "
#define OUT(NAME) "output_arg { name: '" NAME "' type: DT_FLOAT } "
#define IN_T(NAME, TYPE) "input_arg { name: '" NAME "' type: " TYPE " } "
#define OUT_T(NAME, TYPE) "output_arg { name: '" NAME "' type: " TYPE " } "
#define RET(NAME, VALUE) "ret { key: '" NAME "' value: '" VALUE "' } "
#define ATTR(NAME, VALUE) "attr { key: '" NAME "' value { " VALUE " } } "
#define TYPE(NAME, VALUE) ATTR(NAME, "type: " VALUE)
#define T_FLOAT TYPE("T", "DT_FLOAT")
#define FUNC(NAME, F) ATTR(NAME, "func { name: '" F "' } ")
#define INPUT(NAME) "input: '" NAME "' "
#define BODY(NAME, OP, REST) "node_def { name: '" NAME "' op: '" OP "' " REST " } "
#define NODE(NAME, OP, REST) "node { name: '" NAME "' op: '" OP "' " REST " } "
#define CONST_ATTRS(TYPE_, FIELD, VALUE)                                                                     \
    TYPE("dtype", TYPE_) ATTR("value", "tensor { dtype: " TYPE_ " tensor_shape { } " FIELD ": " VALUE " } ")
#define CONST_F(VALUE) CONST_ATTRS("DT_FLOAT", "float_val", VALUE)
#define TYPES(NAME, LIST) ATTR(NAME, "list { " LIST " } ")
#define F1 "type: DT_FLOAT "
#define CALL_ATTRS(IN_TYPES, OUT_TYPES, F) TYPES("Tin", IN_TYPES) TYPES("Tout", OUT_TYPES) FUNC("f", F)

// f(x) = x * x + 1
#define SQUARE_PLUS_ONE                                                                                      \
    FUNCTION("F", IN("x") OUT("y"),                                                                          \
             BODY("m", "Mul", INPUT("x") INPUT("x") T_FLOAT) BODY("one", "Const", CONST_F("1"))              \
                 BODY("s", "Add", INPUT("m:z:0") INPUT("one:output:0") T_FLOAT) RET("y", "s:z:0"))
// g(x) = 3 x, typed by T
#define TRIPLE                                                                                               \
    FUNCTION(                                                                                                \
        "G",                                                                                                 \
        "input_arg { name: 'x' type_attr: 'T' } output_arg { name: 'y' type_attr: 'T' } "                    \
        "attr { name: 'T' type: 'type' } ",                                                                  \
        BODY("a", "AddN", INPUT("x") INPUT("x") INPUT("x") ATTR("N", "i: 3") ATTR("T", "placeholder: 'T'"))  \
            RET("y", "a:sum:0"))
// bigger(x, n) = x < n; add_one(x, n) = x + 1, n
#define LOOP                                                                                                 \
    FUNCTION("less", IN("x") IN("n") OUT_T("z", "DT_BOOL"),                                                  \
             BODY("l", "Less", INPUT("x") INPUT("n") T_FLOAT) RET("z", "l:z:0"))                             \
    FUNCTION("more", IN("x") IN("n") OUT("y") OUT("m"),                                                      \
             BODY("one", "Const", CONST_F("1")) BODY("s", "Add", INPUT("x") INPUT("one:output:0") T_FLOAT)   \
                 RET("y", "s:z:0") RET("m", "n"))
// fact(n) = n < 2 ? 1 : n * fact(n - 1)
#define FACTORIAL                                                                                            \
    FUNCTION("one_of", IN("n") OUT("y"), BODY("one", "Const", CONST_F("1")) RET("y", "one:output:0"))        \
    FUNCTION("times", IN("n") OUT("y"),                                                                      \
             BODY("one", "Const", CONST_F("1")) BODY("d", "Sub", INPUT("n") INPUT("one:output:0") T_FLOAT)   \
                 BODY("r", "fact", INPUT("d:z:0")) BODY("m", "Mul", INPUT("n") INPUT("r:y:0") T_FLOAT)       \
                     RET("y", "m:z:0"))                                                                      \
    FUNCTION("fact", IN("n") OUT("y"),                                                                       \
             BODY("two", "Const", CONST_F("2")) BODY("l", "Less", INPUT("n") INPUT("two:output:0") T_FLOAT)  \
                 BODY("i", "If",                                                                             \
                      INPUT("l:z:0") INPUT("n") TYPE("Tcond", "DT_BOOL") TYPES("Tin", F1) TYPES("Tout", F1)  \
                          FUNC("then_branch", "one_of") FUNC("else_branch", "times"))                        \
                     RET("y", "i:output:0"))

#define X NODE("x", "Placeholder", TYPE("dtype", "DT_FLOAT"))
#define CONST(NAME, VALUE) NODE(NAME, "Const", CONST_F(VALUE))

#endif
