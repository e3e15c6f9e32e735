// Several workers share the work: each takes the next piece of a list that lies on the parameter server,
// until none is left.
//
//     braid run --ps 1 --workers 2 multiple_workers
//
// The pieces are ranges of numbers, whose squares are to be added up. A piece is done once, whichever worker
// takes it. The worker that finds all pieces done prints the sum.
#include "task.h"
#include <stdio.h>

enum {
    PIECES = 40,
    PIECE = 25
};

typedef struct model {
    braid_out next;        // the number of a piece; OutOfRange when none is left
    braid_out piece;       // placeholder
    braid_out sum, pieces; // after a piece was added
} model;

// ref += value, under a lock: workers take turns.
static braid_out add_to(braid_graph *g, braid_out ref, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, "AssignAdd", NULL);
    braid_op_input(d, ref);
    braid_op_input(d, value);
    braid_op_attr_bool(d, "use_locking", true);
    return braid_op_end_out(d);
}

static braid_variable counter(braid_graph *g, const char *name)
{
    return braid_variable_new(g, name, braid_zeros(g, BRAID_INT64, BRAID_SCALAR), false);
}

static model build(braid_graph *g)
{
    const braid_variable taken = counter(g, "taken"), sum = counter(g, "sum"), done = counter(g, "done");
    model m = {.piece = braid_placeholder(g, "piece", BRAID_INT64, BRAID_SHAPE(PIECE))};
    braid_op_desc *d = braid_op_begin(g, "CountUpTo", "next"); // gives each number once
    braid_op_input(d, taken.ref);
    braid_op_attr_int(d, "limit", PIECES);
    m.next = braid_op_end_out(d);
    const braid_out added = add_to(g, sum.ref, braid_reduce_sum(g, braid_square(g, m.piece)));
    braid_push_control(g, &added.op, 1);
    m.pieces = add_to(g, done.ref, braid_const_number(g, "one", BRAID_INT64, 1));
    braid_pop_control(g);
    // Read where it lies, and after the piece was counted: the worker that counts the last one reads what all
    // have added.
    braid_push_control(g, &m.pieces.op, 1);
    braid_push_colocate(g, sum.ref.op);
    m.sum = braid_identity(g, "sum_of_all", sum.ref);
    braid_pop_colocate(g);
    braid_pop_control(g);
    return m;
}

static int64_t number(const braid_tensor *t)
{
    return *(const int64_t *)braid_tensor_data(t);
}

static braid_code work(const task *t, braid_status *status)
{
    braid_graph *g = braid_graph_new();
    task_place(t, g);
    const model m = build(g);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.session = task_session(t), .is_chief = t->is_chief});
    int taken = 0;
    braid_tensor *next = NULL;
    while (!braid_should_stop(s) && !braid_run(s, NULL, BRAID_FETCH({m.next, &next}), NULL)) {
        int64_t numbers[PIECE];
        for (int i = 0; i < PIECE; i++)
            numbers[i] = number(next) * PIECE + i + 1;
        braid_tensor *piece = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(PIECE), numbers, NULL);
        braid_tensor *sum = NULL, *pieces = NULL;
        if (!braid_run(s, BRAID_FEED({m.piece, piece}), BRAID_FETCH({m.sum, &sum}, {m.pieces, &pieces}),
                       NULL)) {
            taken++;
            if (number(pieces) == PIECES) printf("the sum of the squares is %lld\n", (long long)number(sum));
        }
        braid_tensor_free(sum);
        braid_tensor_free(pieces);
        braid_tensor_free(piece);
        braid_tensor_free(next);
        next = NULL;
    }
    printf("worker %d took %d of %d pieces\n", t->index, taken, PIECES);
    braid_monitored_session_status(s, status);
    braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_status_code(status);
}

int main(void)
{
    return task_main("multiple_workers", work);
}
