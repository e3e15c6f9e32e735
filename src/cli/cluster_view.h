// A view of a cluster at work: asks its tasks to describe themselves, and shows what they say as text.
#ifndef BD_CLI_CLUSTER_VIEW_H
#define BD_CLI_CLUSTER_VIEW_H

#include "base/array.h"
#include "base/check.h"
#include <braid/monitoring.h>

// A process of a task, as it was seen last.
typedef struct bd_viewed_task {
    char *name; // "ps/0"; "ps/0.1" for the second process of a task
    char *job;
    int index;
    char *address;
    braid_task_description *now, *before; // NULL: it has not answered; before: the time before
    braid_status *status;                 // why it has not
} bd_viewed_task;

// Zero-initialized is a valid empty one.
typedef struct bd_cluster_view {
    bd_viewed_task *tasks; // in the order of the cluster
    int count;
} bd_cluster_view;

// Asks the task at `address` for the tasks of its cluster, and all others at the same time. An error is that
// of this task; what is wrong with others is in the view.
braid_code bd_cluster_view_open(bd_cluster_view *v, braid_monitor *m, const char *address,
                                braid_status *status);
void bd_cluster_view_fini(bd_cluster_view *v);

// Asks all tasks again. Rates are from then on those since the time before.
void bd_cluster_view_refresh(bd_cluster_view *v, braid_monitor *m);

int bd_cluster_view_answers(const bd_cluster_view *v); // tasks that have answered the last time

typedef enum bd_line_style {
    BD_LINE_PLAIN,
    BD_LINE_HEAD,
    BD_LINE_BAD,
    BD_LINE_SLOW
} bd_line_style;

typedef struct bd_view_line {
    char *text; // printable ASCII
    bd_line_style style;
} bd_view_line;

typedef BD_ARRAY(bd_view_line) bd_view_lines;

// Tables of tasks, sessions and steps in progress: lines that are added to `out`.
void bd_cluster_view_show(const bd_cluster_view *v, bd_view_lines *out);
// The same for a log: one line of sums, and one for each task that does not answer.
void bd_cluster_view_log(const bd_cluster_view *v, bd_view_lines *out);
void bd_view_lines_fini(bd_view_lines *lines);

// A JSON object (bd_free): {"tasks": [...]} with each task's own description, or its error.
char *bd_cluster_view_json(const bd_cluster_view *v);

#endif
