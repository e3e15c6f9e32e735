// Several devices in one process, as TensorFlow's programs for several GPUs use them:
//
//     multi_device [DEVICES [gpu]]
//
// Each device has a tower of the network; the variables are on /cpu:0. With `gpu` the towers ask for /gpu:0,
// /gpu:1 ..., which soft placement replaces by the CPU devices of the session, and says so in the log.
#include "towers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 150

// The nodes of a tower go to its device, and its variables to /cpu:0.
typedef struct placing {
    const char *type;
    char devices[64][32];
} placing;

static const char *choose(void *arg, const char *op_type, const char *device, braid_dtype dtype,
                          braid_shape shape)
{
    (void)device, (void)dtype, (void)shape;
    return strcmp(op_type, "VariableV2") == 0 ? "/cpu:0" : arg;
}

static void push_device(braid_graph *g, int tower, void *arg)
{
    placing *p = arg;
    snprintf(p->devices[tower], sizeof p->devices[tower], "/%s:%d", p->type, tower);
    braid_push_device_fn(g, choose, p->devices[tower]);
}

int main(int argc, char **argv)
{
    const int devices = argc > 1 ? atoi(argv[1]) : 2;
    if (argc > 3 || devices < 1 || devices > 64 || (argc > 2 && strcmp(argv[2], "gpu") != 0)) {
        fprintf(stderr, "usage: multi_device [DEVICES [gpu]], with 1 to 64 devices\n");
        return 2;
    }
    braid_graph *g = braid_graph_new();
    placing p = {.type = argc > 2 ? "gpu" : "cpu"};
    braid_push_device(g, "/cpu:0");
    const towers t = towers_build(g, devices, push_device, &p);
    braid_pop_device(g);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){
               .session = {.cpu_devices = devices, .allow_soft_placement = true},
               .hooks = BRAID_HOOKS(braid_stop_at_step(STEPS), braid_progress(t.loss, STEPS))});
    towers_train(&t, s);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_exit_code(code);
}
