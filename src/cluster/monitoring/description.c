// The public form of a description, from its message.
#include "cluster/monitoring/description.h"
#include "base/alloc.h"

typedef struct owned_description {
    braid_task_description d;
    bd_arena arena; // of all that it points to
} owned_description;

_Static_assert((int)BRAID_TASK_DONE == (int)BRAID__KNOWN_STATE__STATE_DONE &&
                   (int)BD_PEER_DONE == (int)BRAID__KNOWN_STATE__STATE_DONE,
               "the states have the same numbers in memory and on the wire");

const char *braid_task_state_name(braid_task_state state)
{
    static const char *const names[] = {"unknown", "unseen", "connected", "lost", "gone", "done"};
    return (unsigned)state < BD_COUNTOF(names) ? names[state] : "unknown";
}

static const braid_known_task *tasks_of(const Braid__DescribeResponse *m, bd_arena *arena)
{
    braid_known_task *tasks = BD_ARENA_ARRAY(arena, braid_known_task, m->n_known_task);
    for (size_t i = 0; i < m->n_known_task; i++) {
        const Braid__KnownTask *t = m->known_task[i];
        tasks[i] = (braid_known_task){bd_arena_strdup(arena, t->job), t->task,
                                      bd_arena_strdup(arena, t->address), (braid_task_state)t->state};
    }
    return tasks;
}

static const braid_described_session *sessions_of(const Braid__DescribeResponse *m, bd_arena *arena)
{
    braid_described_session *sessions = BD_ARENA_ARRAY(arena, braid_described_session, m->n_session);
    for (size_t i = 0; i < m->n_session; i++) {
        const Braid__DescribedSession *s = m->session[i];
        sessions[i] = (braid_described_session){.handle = bd_arena_strdup(arena, s->handle),
                                                .owner = bd_arena_strdup(arena, s->owner),
                                                .age_ms = s->age_ms,
                                                .steps_ended = s->steps,
                                                .steps_failed = s->steps_failed,
                                                .steps_running = s->steps_running};
    }
    return sessions;
}

static const braid_running_step *steps_of(Braid__RunningStep *const *from, size_t count, bd_arena *arena)
{
    braid_running_step *steps = BD_ARENA_ARRAY(arena, braid_running_step, count);
    for (size_t i = 0; i < count; i++)
        steps[i] = (braid_running_step){from[i]->id, bd_arena_strdup(arena, from[i]->session),
                                        from[i]->age_ms, bd_arena_strdup(arena, from[i]->waits_for)};
    return steps;
}

static const braid_step_class *classes_of(const Braid__DescribeResponse *m, bd_arena *arena)
{
    braid_step_class *classes = BD_ARENA_ARRAY(arena, braid_step_class, m->n_step_class);
    for (size_t i = 0; i < m->n_step_class; i++)
        classes[i] = (braid_step_class){m->step_class[i]->up_to_seconds, m->step_class[i]->count};
    return classes;
}

static void set_numbers(braid_task_description *d, const Braid__DescribeResponse *m)
{
    d->index = m->task;
    d->incarnation = m->incarnation;
    d->pid = m->pid;
    d->is_serving = m->is_serving;
    d->uptime_ms = m->uptime_ms;
    d->resident_bytes = m->resident_bytes;
    d->tensor_bytes = m->tensor_bytes;
    d->variable_count = m->variable_count;
    d->variable_bytes = m->variable_bytes;
    d->processor_seconds = m->processor_seconds;
    d->steps_ended = m->steps;
    d->steps_failed = m->steps_failed;
    d->step_seconds = m->step_seconds;
    d->executions_ended = m->executions;
    d->executions_failed = m->executions_failed;
    d->sent_bytes = m->sent_bytes;
    d->received_bytes = m->received_bytes;
    d->memory_bytes = m->memory_bytes;
    d->mpi_bytes = m->mpi_bytes;
    d->shared_memory_links = m->shared_memory_links;
    d->calls = m->calls;
    d->calls_made = m->calls_made;
    d->sessions_open = m->sessions_open;
    d->steps_running = m->steps_running;
    d->executions_running = m->executions_running;
}

braid_task_description *bd_description_of(const Braid__DescribeResponse *m)
{
    owned_description *o = bd_calloc(1, sizeof *o);
    bd_arena *arena = &o->arena;
    braid_task_description *d = &o->d;
    set_numbers(d, m);
    d->job = bd_arena_strdup(arena, m->job);
    d->address = bd_arena_strdup(arena, m->address);
    d->version = bd_arena_strdup(arena, m->version);
    d->step_classes = classes_of(m, arena);
    d->step_class_count = (int)m->n_step_class;
    d->tasks = tasks_of(m, arena);
    d->task_count = (int)m->n_known_task;
    d->sessions = sessions_of(m, arena);
    d->session_count = (int)m->n_session;
    d->steps = steps_of(m->step, m->n_step, arena);
    d->step_count = (int)m->n_step;
    d->executions = steps_of(m->execution, m->n_execution, arena);
    d->execution_count = (int)m->n_execution;
    return d;
}

void braid_task_description_free(braid_task_description *d)
{
    if (!d) return;
    owned_description *o = BD_CONTAINER_OF(d, owned_description, d);
    bd_arena_fini(&o->arena);
    bd_free(o);
}
