// Servers: each task of a cluster starts one, and a session on a server can place nodes on all tasks.
//
//     braid run --ps 1 --workers 2 servers
//
// Each worker asks for a greeting that the parameter server puts together from the worker's name.
#include "task.h"
#include <stdio.h>

static braid_code greet(const task *t, braid_status *status)
{
    braid_graph *g = braid_graph_new();
    braid_push_device(g, t->device);
    const braid_out name = braid_const_string(g, "name", t->server ? t->device : "this process");
    braid_pop_device(g);
    if (t->server) braid_push_device(g, "/job:ps/task:0");
    const braid_out words[] = {
        braid_const_string(g, "hello",
                           t->server ? "Hello from /job:ps/task:0 to" : "Hello from this process to"),
        name};
    braid_op_desc *d = braid_op_begin(g, "StringJoin", "greeting");
    braid_op_input_list(d, words, 2);
    braid_op_attr_string(d, "separator", " ");
    const braid_out greeting = braid_op_end_out(d);

    const braid_session_options options = task_session(t);
    braid_session *session = braid_session_open(g, &options, status);
    braid_tensor *value = NULL;
    const braid_fetch fetch = {greeting, &value};
    if (session &&
        !braid_session_run(session, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, status)) {
        size_t length;
        const char *text = braid_tensor_string_at(value, 0, &length);
        printf("%.*s\n", (int)length, text);
    }
    braid_tensor_free(value);
    braid_session_close(session, NULL);
    braid_graph_free(g);
    return braid_status_code(status);
}

int main(void)
{
    return task_main("servers", greet);
}
