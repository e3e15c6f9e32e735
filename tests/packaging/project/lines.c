// A user's program that makes a mistake: prints the error of its graph.
#include <braid/braid.h>
#include <stdio.h>

int main(void)
{
    braid_graph *g = braid_graph_new();
    const braid_out a = braid_placeholder(g, "a", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    braid_matmul(g, a, a);
    braid_status *st = braid_status_new();
    const braid_code code = braid_graph_status(g, st);
    puts(braid_status_message(st));
    braid_status_free(st);
    braid_graph_free(g);
    return code == BRAID_INVALID_ARGUMENT ? 0 : 1;
}
