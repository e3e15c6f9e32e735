// Graphs: building, GraphDef.
#include "native.h"
#include <stdlib.h>

typedef struct {
    PyObject_HEAD braid_graph *graph;
    unsigned long walker;    // the thread in native_graph_begin_walk
    int walks;               // its calls inside each other; 0: there is none
    PyThread_type_lock walk; // held while there are any
} graph_object;

static PyObject *graph_type;

braid_graph *native_graph(PyObject *object)
{
    if ((PyObject *)Py_TYPE(object) == graph_type) return ((graph_object *)object)->graph;
    PyErr_SetString(PyExc_TypeError, "a braid._native.Graph is needed");
    return NULL;
}

// ---- Turns ----

void native_graph_wait(PyObject *graph)
{
    const graph_object *g = (graph_object *)graph;
    while (g->walks > 0 && g->walker != PyThread_get_thread_ident()) {
        Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(g->walk, WAIT_LOCK);
        PyThread_release_lock(g->walk);
        Py_END_ALLOW_THREADS
    }
}

void native_graph_begin_walk(PyObject *graph)
{
    graph_object *g = (graph_object *)graph;
    native_graph_wait(graph);
    g->walker = PyThread_get_thread_ident();
    if (g->walks++ == 0) PyThread_acquire_lock(g->walk, WAIT_LOCK);
}

void native_graph_end_walk(PyObject *graph)
{
    graph_object *g = (graph_object *)graph;
    if (--g->walks == 0) PyThread_release_lock(g->walk);
}

// ---- Building ----

// An argument of an op.
typedef struct {
    braid_out one;
    braid_out *list; // NULL: it is `one`
    int count;
} argument;

typedef struct {
    const char *name, *data;
    size_t len;
} attribute;

// What a node is made of. The pointers are to what the arguments of the call keep.
typedef struct {
    const char *type, *name, *device, *file;
    int line;
    argument *inputs;
    braid_op **controls;
    attribute *attrs;
    int input_count, control_count, attr_count;
} node;

static void node_end(node *n)
{
    for (int i = 0; n->inputs && i < n->input_count; i++)
        free(n->inputs[i].list);
    free(n->inputs);
    free(n->controls);
    free(n->attrs);
}

// Each input is a list of pairs, or one pair.
static bool take_inputs(node *n, PyObject *inputs)
{
    PyObject *tuple = PySequence_Tuple(inputs);
    if (!tuple) return false;
    const Py_ssize_t count = PyTuple_Size(tuple);
    n->inputs = calloc((size_t)count + 1, sizeof *n->inputs);
    bool is_good = n->inputs != NULL;
    if (!is_good) PyErr_NoMemory();
    for (; is_good && n->input_count < count; n->input_count++) {
        argument *a = &n->inputs[n->input_count];
        PyObject *input = PyTuple_GetItem(tuple, n->input_count);
        is_good = PyTuple_Check(input) ? native_out(input, &a->one) : native_outs(input, &a->list, &a->count);
    }
    Py_DECREF(tuple);
    return is_good;
}

static bool take_attrs(node *n, PyObject *attrs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    n->attrs = calloc((size_t)PyDict_Size(attrs) + 1, sizeof *n->attrs);
    if (!n->attrs) {
        PyErr_NoMemory();
        return false;
    }
    while (PyDict_Next(attrs, &at, &key, &value)) {
        attribute *a = &n->attrs[n->attr_count++];
        char *data;
        Py_ssize_t len;
        a->name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!a->name || PyBytes_AsStringAndSize(value, &data, &len) < 0) return false;
        a->data = data;
        a->len = (size_t)len;
    }
    return true;
}

// No Python runs from here to the end: with the graph locked it could let a thread run that waits for the
// graph and keeps the interpreter's lock.
static braid_op *make(braid_graph *g, const node *n, braid_status *st)
{
    braid_graph_lock(g);
    braid_here(n->file, n->line);
    braid_op_desc *d = braid_op_begin(g, n->type, n->name);
    if (n->device) braid_op_device(d, n->device);
    for (int i = 0; i < n->input_count; i++) {
        const argument *a = &n->inputs[i];
        if (a->list)
            braid_op_input_list(d, a->list, a->count);
        else
            braid_op_input(d, a->one);
    }
    for (int i = 0; i < n->control_count; i++)
        braid_op_control(d, n->controls[i]);
    for (int i = 0; i < n->attr_count; i++)
        braid_op_attr_value(d, n->attrs[i].name, n->attrs[i].data, n->attrs[i].len);
    braid_op *op = braid_op_end(d);
    braid_here(NULL, 0); // the file's name may end with this call
    braid_graph_take_error(g, st);
    braid_graph_unlock(g);
    return op;
}

static PyObject *add_node(node *n, PyObject *self, PyObject *args)
{
    PyObject *inputs, *controls, *attrs;
    if (!PyArg_ParseTuple(args, "szOOO!z|zi", &n->type, &n->name, &inputs, &controls, &PyDict_Type, &attrs,
                          &n->device, &n->file, &n->line))
        return NULL;
    if (!take_inputs(n, inputs) || !native_ops(controls, &n->controls, &n->control_count) ||
        !take_attrs(n, attrs))
        return NULL;
    NATIVE_STATUS(st);
    native_graph_wait(self);
    braid_op *op = make(native_graph(self), n, st);
    return op ? native_op_new(self, op) : native_raise(st);
}

static PyObject *add(PyObject *self, PyObject *args)
{
    node n = {0};
    PyObject *result = add_node(&n, self, args);
    node_end(&n);
    return result;
}

// ---- The graph ----

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names)) return NULL;
    graph_object *g = (graph_object *)PyType_GenericAlloc(type, 0);
    if (!g) return NULL;
    g->graph = braid_graph_new();
    g->walk = PyThread_allocate_lock();
    if (g->walk) return (PyObject *)g;
    Py_DECREF(g);
    return PyErr_NoMemory();
}

static void graph_dealloc(PyObject *self)
{
    graph_object *g = (graph_object *)self;
    braid_graph_free(g->graph);
    if (g->walk) PyThread_free_lock(g->walk);
    native_free(self);
}

static PyObject *import_graph_def(PyObject *self, PyObject *args)
{
    const char *data;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "y#", &data, &len)) return NULL;
    NATIVE_STATUS(st);
    native_graph_wait(self);
    if (braid_graph_import(((graph_object *)self)->graph, data, (size_t)len, st)) return native_raise(st);
    Py_RETURN_NONE;
}

static PyObject *export_graph_def(PyObject *self, PyObject *args)
{
    (void)args;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_graph_export(((graph_object *)self)->graph, &len, st);
    return native_bytes(data, len, st);
}

static PyObject *export_from(PyObject *self, PyObject *args)
{
    int first_op, with_defaults;
    if (!PyArg_ParseTuple(args, "ip", &first_op, &with_defaults)) return NULL;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_graph_export_from(native_graph(self), first_op, with_defaults, &len, st);
    return native_bytes(data, len, st);
}

static PyObject *unique_name(PyObject *self, PyObject *args)
{
    const char *name;
    int marks_used;
    if (!PyArg_ParseTuple(args, "sp", &name, &marks_used)) return NULL;
    braid_graph *g = native_graph(self);
    NATIVE_STATUS(st);
    native_graph_wait(self);
    braid_graph_lock(g);
    const char *unique = braid_graph_unique_name(g, name, marks_used);
    const braid_code code = braid_graph_take_error(g, st);
    braid_graph_unlock(g);
    return code ? native_raise(st) : PyUnicode_FromString(unique);
}

static PyObject *set_seed(PyObject *self, PyObject *args)
{
    long long seed;
    if (!PyArg_ParseTuple(args, "L", &seed)) return NULL;
    braid_graph_set_seed(native_graph(self), seed);
    Py_RETURN_NONE;
}

static PyObject *find(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    braid_op *op = braid_graph_find(((graph_object *)self)->graph, name);
    if (op) return native_op_new(self, op);
    Py_RETURN_NONE;
}

static PyObject *get_op(PyObject *self, Py_ssize_t index)
{
    const graph_object *g = (graph_object *)self;
    if (index >= 0 && index < braid_graph_num_ops(g->graph))
        return native_op_new(self, braid_graph_op(g->graph, (int)index));
    PyErr_SetString(PyExc_IndexError, "a graph has no such node");
    return NULL;
}

static Py_ssize_t num_ops(PyObject *self)
{
    return braid_graph_num_ops(((graph_object *)self)->graph);
}

// ---- The type ----

bool native_graph_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"add", add, METH_VARARGS,
         "add(type, name, inputs, controls, attrs, device, file=None, line=0): makes a node. An input is a pair (Op, index) or a list "
         "of such pairs, for an argument that is a list; an attribute is the bytes of an AttrValue. The name is "
         "made unique. Errors name the line that built the node."},
        {"import_graph_def", import_graph_def, METH_VARARGS,
         "import_graph_def(bytes): adds the nodes of a GraphDef, all or none."},
        {"export_graph_def", export_graph_def, METH_NOARGS, "The graph as the bytes of a GraphDef."},
        {"import_with", (PyCFunction)(void (*)(void))native_import_with, METH_VARARGS | METH_KEYWORDS,
         "import_with(bytes, prefix=None, uniquify_prefix=False, uniquify_names=False, input_map={}, controls=(), "
         "return_outputs=(), return_ops=(), default_device=None): adds the nodes of a GraphDef. The map has pairs "
         "(Op, index), or an Op for a control input, by names. Returns the outputs, the nodes, and the names of "
         "the map that nothing has."},
        {"export_from", export_from, METH_VARARGS,
         "export_from(first_op, with_defaults): the nodes from a number on as the bytes of a GraphDef."},
        {"gradients", (PyCFunction)(void (*)(void))native_gradients, METH_VARARGS | METH_KEYWORDS,
         "gradients(ys, xs, grad_ys=None, stops=(), name=None, gate=False, colocate=False, fn=None, file=None, "
         "line=0, aggregation=0, take=None, conditions=()): builds the gradients, a list of None, pairs and triples "
         "(values, indices, dense_shape). fn(op, grads) is asked first at each node: it returns a list of the "
         "gradients of the inputs, or None for Braid's. take(op) is given each new node, unless a loop is on a "
         "path. Exceptions of both end the call."},
        {"gradient_to_dense", native_gradient_to_dense, METH_O,
         "gradient_to_dense(gradient): the whole of a gradient, as a pair."},
        {"to_function", native_to_function, METH_VARARGS,
         "to_function(name, inputs, outputs, output_names=None, ops=None, description=None): the graph as the "
         "bytes of a FunctionDef."},
        {"add_function", native_add_function, METH_VARARGS,
         "add_function(bytes, gradient=None): adds a FunctionDef to the library."},
        {"functions", native_functions, METH_NOARGS, "The names of the functions of the library."},
        {"function_def", native_function_def, METH_VARARGS,
         "function_def(name): a function of the library as the bytes of a FunctionDef."},
        {"function_gradient", native_function_gradient, METH_VARARGS,
         "function_gradient(name): the name of the gradient function that was given for a function, or None."},
        {"unique_name", unique_name, METH_VARARGS,
         "unique_name(name, marks_used): what a node of this name would be called in full."},
        {"set_seed", set_seed, METH_VARARGS, "set_seed(seed): the seed of the graph (tf.set_random_seed)."},
        {"find", find, METH_VARARGS, "find(name): the node, or None."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "A graph. len(graph) is the number of its nodes, which graph[i] are in the order in which they "
         "were made."},
        {Py_tp_new, graph_new},
        {Py_tp_dealloc, graph_dealloc},
        {Py_tp_methods, methods},
        {Py_sq_length, num_ops},
        {Py_sq_item, get_op},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.Graph",
                               .basicsize = sizeof(graph_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    graph_type = native_add_type(module, &spec);
    return graph_type != NULL;
}
