// Resources in containers, and resources in use while a container is cleared.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "op/resource.h"
#include <stdio.h>

typedef struct thing {
    bd_resource base;
    int number;
} thing;

static atomic_int alive, abandoned;

static void destroy_thing(bd_resource *r)
{
    atomic_fetch_sub(&alive, 1);
    bd_free(BD_CONTAINER_OF(r, thing, base));
}

static void abandon_thing(bd_resource *r)
{
    (void)r;
    atomic_fetch_add(&abandoned, 1);
}

static const bd_resource_type thing_type = {
    .name = "Thing", .destroy = destroy_thing, .abandon = abandon_thing};
static const bd_resource_type other_type = {.name = "Other", .destroy = destroy_thing};
static const bd_resource_type third_type = {.name = "Third", .destroy = destroy_thing};

typedef struct wanted_thing {
    const bd_resource_type *type;
    int number;
} wanted_thing;

static braid_code create_thing(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const wanted_thing *wanted = arg;
    thing *t = bd_calloc(1, sizeof *t);
    bd_resource_init(&t->base, wanted->type);
    t->number = wanted->number;
    atomic_fetch_add(&alive, 1);
    *out = &t->base;
    return BRAID_OK;
}

static braid_code refuse(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg, (void)out;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no more things");
}

// Gets or makes the thing, and gives the reference back at once; returns its number.
static int get(bd_resources *rs, const char *container, const char *name, int number)
{
    BD_STATUS(st);
    bd_resource *r;
    wanted_thing wanted = {&thing_type, number};
    bd_resources_lookup_or_create(
        rs, &(bd_resource_spec){container, name, &thing_type, create_thing, &wanted}, &r, st);
    assert_ok(st);
    int found = BD_CONTAINER_OF(r, thing, base)->number;
    bd_resource_unref(r);
    return found;
}

static void a_resource_is_made_once_and_found_again(void **state)
{
    (void)state;
    bd_resources *rs = bd_resources_new("home");
    assert_int_equal(get(rs, "c", "a", 1), 1);
    assert_int_equal(get(rs, "c", "a", 2), 1);
    assert_int_equal(get(rs, "d", "a", 3), 3);
    assert_int_equal(get(rs, "", "a", 4), 4);
    assert_int_equal(get(rs, "home", "a", 5), 4); // "" is the default container
    bd_resources_free(rs);
    assert_int_equal(atomic_load(&alive), 0);
}

static void a_missing_resource_is_an_error(void **state)
{
    (void)state;
    bd_resources *rs = bd_resources_new("home");
    BD_STATUS(st);
    bd_resource *r;
    bd_resources_lookup(rs, "c", "a", &thing_type, &r, st);
    assert_null(r);
    assert_error(st, BRAID_NOT_FOUND, "Resource c/a/Thing does not exist");
    get(rs, "c", "a", 1);
    bd_resources_lookup(rs, "c", "a", &other_type, &r, st);
    assert_error(st, BRAID_NOT_FOUND, "Resource c/a/Other does not exist");
    bd_resources_lookup_or_create(rs, &(bd_resource_spec){"c", "b", &thing_type, refuse, NULL}, &r, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "no more things");
    bd_resources_delete(rs, "c", "b", &thing_type, st);
    assert_error(st, BRAID_NOT_FOUND, "c/b/Thing");
    bd_resources_delete(rs, "c", "a", &other_type, st);
    assert_error(st, BRAID_NOT_FOUND, "c/a/Other");
    bd_resources_delete_kind(rs, "c", "a", "Other", st);
    assert_error(st, BRAID_NOT_FOUND, "c/a/Other");
    bd_resources_free(rs);
}

static void each_kind_has_names_of_its_own(void **state)
{
    (void)state;
    static const bd_resource_type *const types[] = {&thing_type, &other_type, &third_type};
    bd_resources *rs = bd_resources_new("home");
    BD_STATUS(st);
    bd_resource *r[3] = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            bd_resource *before = r[i];
            wanted_thing wanted = {types[i], i};
            bd_resources_lookup_or_create(rs, &(bd_resource_spec){"c", "a", types[i], create_thing, &wanted},
                                          &r[i], st);
            assert_ok(st);
            if (round == 1) assert_ptr_equal(r[i], before);
            bd_resource_unref(r[i]);
        }
    }
    assert_int_equal(atomic_load(&alive), 3);
    // Deletes the middle one of those with the name, then the last, then the only one.
    assert_int_equal(bd_resources_delete_kind(rs, "c", "a", "Other", st), BRAID_OK);
    bd_resources_lookup(rs, "c", "a", &other_type, &r[1], st);
    assert_error(st, BRAID_NOT_FOUND, "c/a/Other");
    assert_int_equal(bd_resources_delete(rs, "c", "a", &thing_type, st), BRAID_OK);
    bd_resources_lookup(rs, "c", "a", &third_type, &r[2], st);
    assert_ok(st);
    bd_resource_unref(r[2]);
    assert_int_equal(bd_resources_delete(rs, "c", "a", &third_type, st), BRAID_OK);
    assert_int_equal(atomic_load(&alive), 0);
    bd_resources_delete(rs, "c", "a", &third_type, st);
    assert_error(st, BRAID_NOT_FOUND, "c/a/Third");
    bd_resources_free(rs);
}

static void clearing_a_container_notifies_its_resources_and_keeps_used_ones(void **state)
{
    (void)state;
    bd_resources *rs = bd_resources_new("home");
    BD_STATUS(st);
    get(rs, "c", "a", 1);
    get(rs, "c", "b", 2);
    get(rs, "d", "a", 3);
    bd_resource *held;
    bd_resources_lookup(rs, "c", "a", &thing_type, &held, st);
    assert_ok(st);
    atomic_store(&abandoned, 0);
    bd_resources_clear(rs, "c");
    assert_int_equal(atomic_load(&abandoned), 2);
    assert_int_equal(atomic_load(&alive), 2); // the one held, and d/a
    assert_int_equal(get(rs, "c", "a", 7), 7);
    bd_resource_unref(held);
    bd_resources_clear(rs, "no such container");
    bd_resources_clear(rs, NULL);
    assert_int_equal(atomic_load(&alive), 0);
    bd_resources_free(rs);
}

static void a_view_with_an_owner_uses_what_was_made_through_it(void **state)
{
    (void)state;
    bd_resources *rs = bd_resources_new("home");
    bd_resources *alice = bd_resources_view(rs, "alice"), *bob = bd_resources_view(rs, "bob");
    bd_resources *again = bd_resources_view(rs, "alice");
    BD_STATUS(st);
    bd_resource *r;
    get(rs, "", "tasks", 1);
    get(alice, "", "a", 2);
    bd_resources_unref(alice);
    assert_int_equal(get(again, "home", "a", 3), 2); // it belongs to the owner, not to the view
    assert_int_equal(get(bob, "", "b", 4), 4);       // of the same container
    bd_resources_lookup(bob, "", "a", &thing_type, &r, st);
    assert_null(r);
    assert_error(
        st, BRAID_PERMISSION_DENIED,
        "Resource home/a/Thing belongs to alice, and the session to bob: use a container of your own");
    bd_resources_lookup(bob, "", "tasks", &thing_type, &r, st);
    assert_error(st, BRAID_PERMISSION_DENIED, "home/tasks/Thing belongs to the tasks of the cluster");
    wanted_thing wanted = {&thing_type, 5};
    bd_resources_lookup_or_create(bob, &(bd_resource_spec){"", "a", &thing_type, create_thing, &wanted}, &r,
                                  st);
    assert_error(st, BRAID_PERMISSION_DENIED, "home/a/Thing belongs to alice");
    bd_resources_delete(bob, "", "a", &thing_type, st);
    assert_error(st, BRAID_PERMISSION_DENIED, "home/a/Thing belongs to alice");
    bd_resources_clear(bob, "");
    assert_int_equal(atomic_load(&alive), 2);
    bd_resources_clear(again, NULL);
    assert_int_equal(atomic_load(&alive), 1);
    assert_int_equal(get(bob, "", "b", 6), 6); // was cleared
    assert_int_equal(get(rs, "", "b", 7), 6);  // no owner: sees all
    bd_resources_clear(rs, "home");
    assert_int_equal(atomic_load(&alive), 0);
    bd_resources_free(rs);
    get(bob, "", "late", 8); // a view outlives the owner of the table
    bd_resources_unref(bob);
    bd_resources_unref(again);
    assert_int_equal(atomic_load(&alive), 0);
}

static void get_many(void *arg)
{
    bd_resources *rs = arg;
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i % 10);
        get(rs, "c", name, i);
        if (i % 50 == 0) bd_resources_clear(rs, "c");
    }
}

static void threads_may_get_and_clear_at_once(void **state)
{
    (void)state;
    bd_resources *rs = bd_resources_new("home");
    BD_STATUS(st);
    bd_thread threads[3];
    for (int i = 0; i < 3; i++)
        bd_thread_start(&threads[i], "get", get_many, rs, st);
    assert_ok(st);
    for (int i = 0; i < 3; i++)
        bd_thread_join(&threads[i]);
    bd_resources_free(rs);
    assert_int_equal(atomic_load(&alive), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resource_is_made_once_and_found_again),
        cmocka_unit_test(a_missing_resource_is_an_error),
        cmocka_unit_test(each_kind_has_names_of_its_own),
        cmocka_unit_test(clearing_a_container_notifies_its_resources_and_keeps_used_ones),
        cmocka_unit_test(a_view_with_an_owner_uses_what_was_made_through_it),
        cmocka_unit_test(threads_may_get_and_clear_at_once),
    };
    return BD_RUN_TESTS(tests);
}
