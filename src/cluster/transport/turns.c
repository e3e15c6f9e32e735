// Turns of calls: a list of those that wait, and a count of those that have one.
#include "cluster/transport/turns.h"

#include <stddef.h>

void bd_turns_init(bd_turns *t)
{
    *t = (bd_turns){.end = NULL};
    bd_mutex_init(&t->mu);
}

void bd_turns_fini(bd_turns *t)
{
    bd_mutex_fini(&t->mu);
}

static void give_locked(bd_turns *t, bd_turn *turn)
{
    turn->round = t->round;
    turn->next = NULL;
    t->taken++;
}

static bd_turn *give_first_locked(bd_turns *t)
{
    bd_turn *turn = t->taken < BD_TURNS_AT_ONCE ? t->first : NULL;
    if (!turn) return NULL;
    t->first = turn->next;
    give_locked(t, turn);
    return turn;
}

static void append_locked(bd_turns *t, bd_turn *turn)
{
    turn->next = NULL;
    *(t->first ? t->end : &t->first) = turn;
    t->end = &turn->next;
}

static bool begin_timing_locked(bd_turns *t)
{
    const bool begins = t->first && !t->is_timed;
    if (begins) t->is_timed = true;
    return begins;
}

bool bd_turns_take(bd_turns *t, bd_turn *turn, bool *time_it)
{
    bd_mutex_lock(&t->mu);
    const bool has_turn = !t->first && t->taken < BD_TURNS_AT_ONCE;
    if (has_turn)
        give_locked(t, turn);
    else
        append_locked(t, turn);
    *time_it = begin_timing_locked(t);
    bd_mutex_unlock(&t->mu);
    return has_turn;
}

bd_turn *bd_turns_end(bd_turns *t, const bd_turn *turn)
{
    bd_mutex_lock(&t->mu);
    if (turn->round == t->round) t->taken--;
    bd_turn *next = give_first_locked(t);
    bd_mutex_unlock(&t->mu);
    return next;
}

bd_turn *bd_turns_late(bd_turns *t, bool *time_it)
{
    bd_turn *list = NULL, **end = &list;
    bd_mutex_lock(&t->mu);
    t->is_timed = false;
    if (t->first) {
        t->round++;
        t->taken = 0;
    }
    for (bd_turn *turn; (turn = give_first_locked(t)); end = &turn->next) // ends: turns are few
        *end = turn;
    *time_it = begin_timing_locked(t);
    bd_mutex_unlock(&t->mu);
    return list;
}
