// A user's program in C: its output depends on headers, library and kernels being of one version.
#include <braid/braid.h>
#include <stdio.h>

int main(void)
{
    braid_status *st = braid_status_new();
    braid_graph *g = braid_graph_new();
    braid_out sum = braid_add(g, braid_const_float(g, "a", 2), braid_const_float(g, "b", 3));
    braid_session *s = braid_session_open(g, NULL, st);
    braid_tensor *value = NULL;
    const braid_fetch fetch = {sum, &value};
    if (s) braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    if (value)
        printf("Braid %s: %g\n", braid_version(), *(const float *)braid_tensor_data(value));
    else
        fprintf(stderr, "%s\n", braid_status_message(st));
    const int code = value ? 0 : 1;
    braid_tensor_free(value);
    if (s) braid_session_close(s, NULL);
    braid_graph_free(g);
    braid_status_free(st);
    return code;
}
