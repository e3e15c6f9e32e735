// Maps against naive models, with random operations.
#include "base/alloc.h"
#include "base/map.h"
#include "base/random.h"
#include "base/testing/test.h"
#include <stdio.h>

// ---- bd_map ----

// The model: keys and values in order of insertion.
enum {
    MODEL_MAX = 400
};
struct model {
    char keys[MODEL_MAX][16];
    void *values[MODEL_MAX];
    int len;
};

static int model_find(const struct model *m, const char *key)
{
    for (int i = 0; i < m->len; i++) {
        if (strcmp(m->keys[i], key) == 0) return i;
    }
    return -1;
}

static void *model_put(struct model *m, const char *key, void *value)
{
    int i = model_find(m, key);
    void *old = i < 0 ? NULL : m->values[i];
    if (i < 0) {
        i = m->len++;
        strcpy(m->keys[i], key);
    }
    m->values[i] = value;
    return old;
}

static void *model_remove(struct model *m, const char *key)
{
    int i = model_find(m, key);
    if (i < 0) return NULL;
    void *old = m->values[i];
    m->len--;
    memmove(m->keys[i], m->keys[i + 1], sizeof m->keys[0] * (size_t)(m->len - i));
    memmove(&m->values[i], &m->values[i + 1], sizeof m->values[0] * (size_t)(m->len - i));
    return old;
}

static void check_same(const bd_map *map, const struct model *model)
{
    assert_int_equal(bd_map_count(map), model->len);
    size_t pos = 0;
    const char *key;
    void *value;
    for (int i = 0; i < model->len; i++) {
        assert_true(bd_map_next(map, &pos, &key, &value));
        assert_string_equal(key, model->keys[i]);
        assert_ptr_equal(value, model->values[i]);
    }
    assert_false(bd_map_next(map, &pos, &key, &value));
}

static void behaves_as_a_list_of_pairs(void **state)
{
    (void)state;
    bd_map map = {0};
    static struct model model;
    bd_rng rng = bd_rng_init(2);
    for (int step = 0; step < 20000; step++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", (int)bd_rng_below(&rng, step % 2000 < 1000 ? 300 : 20));
        void *value = (void *)(uintptr_t)(step + 1);
        switch (bd_rng_below(&rng, 3)) {
        case 0: assert_ptr_equal(bd_map_put(&map, key, value), model_put(&model, key, value)); break;
        case 1: assert_ptr_equal(bd_map_remove(&map, key), model_remove(&model, key)); break;
        default: {
            int i = model_find(&model, key);
            assert_ptr_equal(bd_map_get(&map, key), i < 0 ? NULL : model.values[i]);
            assert_int_equal(bd_map_has(&map, key), i >= 0);
        }
        }
        if (step % 100 == 0) check_same(&map, &model);
    }
    check_same(&map, &model);
    bd_map_fini(&map);
    assert_int_equal(bd_map_count(&map), 0);
}

static void keys_are_bytes_and_are_copied(void **state)
{
    (void)state;
    bd_map map;
    bd_map_init(&map);
    int one, two, three;
    char key[] = "a\0b";
    bd_map_put_n(&map, key, 3, &one);
    bd_map_put_n(&map, key, 1, &two);
    bd_map_put_n(&map, "", 0, &three);
    key[0] = 'z';
    assert_ptr_equal(bd_map_get_n(&map, "a\0b", 3), &one);
    assert_ptr_equal(bd_map_get(&map, "a"), &two);
    assert_ptr_equal(bd_map_get(&map, ""), &three);
    assert_null(bd_map_get_n(&map, key, 3));
    assert_ptr_equal(bd_map_remove_n(&map, "a\0b", 3), &one);
    assert_null(bd_map_get_n(&map, "a\0b", 3));
    bd_map_clear(&map);
    assert_null(bd_map_get(&map, "a"));
    bd_map_fini(&map);
}

static void a_null_value_is_not_an_absent_key(void **state)
{
    (void)state;
    bd_map map = {0};
    assert_false(bd_map_has(&map, "a"));
    bd_map_put(&map, "a", NULL);
    assert_true(bd_map_has(&map, "a"));
    assert_null(bd_map_get(&map, "a"));
    bd_map_fini(&map);
}

static void the_current_entry_may_be_removed(void **state)
{
    (void)state;
    bd_map map = {0};
    char key[16];
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "%d", i);
        bd_map_put(&map, key, &map);
    }
    size_t pos = 0, seen = 0;
    const char *current;
    while (bd_map_next(&map, &pos, &current, NULL)) {
        if (seen++ % 2 == 0) bd_map_remove(&map, current);
    }
    assert_int_equal(seen, 100);
    assert_int_equal(bd_map_count(&map), 50);
    assert_null(bd_map_get(&map, "4"));
    assert_ptr_equal(bd_map_get(&map, "5"), &map);
    bd_map_fini(&map);
}

static void removed_places_are_used_again(void **state)
{
    (void)state;
    bd_map map = {0};
    char key[16];
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "%d", i);
        bd_map_put(&map, key, &map);
        bd_map_remove(&map, key);
    }
    assert_true(map.entry_cap <= 16);
    bd_map_fini(&map);
}

// ---- bd_imap ----

static void numbers_behave_as_a_table(void **state)
{
    (void)state;
    enum {
        KEYS = 500
    };
    static void *model[KEYS];
    bd_imap map = {0};
    bd_rng rng = bd_rng_init(3);
    size_t count = 0;
    for (int step = 0; step < 50000; step++) {
        size_t k = bd_rng_below(&rng, step % 5000 < 2500 ? KEYS : 10);
        uint64_t key = k * UINT64_C(0x1000000); // far apart, equal low bits; 0 too
        void *value = (void *)(uintptr_t)(step + 1);
        switch (bd_rng_below(&rng, 3)) {
        case 0:
            assert_ptr_equal(bd_imap_put(&map, key, value), model[k]);
            count += model[k] == NULL;
            model[k] = value;
            break;
        case 1:
            assert_ptr_equal(bd_imap_remove(&map, key), model[k]);
            count -= model[k] != NULL;
            model[k] = NULL;
            break;
        default: assert_ptr_equal(bd_imap_get(&map, key), model[k]);
        }
        assert_int_equal(bd_imap_count(&map), count);
    }
    size_t pos = 0, seen = 0;
    uint64_t key;
    void *value;
    while (bd_imap_next(&map, &pos, &key, &value)) {
        assert_ptr_equal(value, model[key / 0x1000000]);
        seen++;
    }
    assert_int_equal(seen, count);
    for (size_t k = 0; k < KEYS; k++)
        assert_ptr_equal(bd_imap_get(&map, k * 0x1000000), model[k]);
    bd_imap_fini(&map);
}

static void an_empty_imap_answers(void **state)
{
    (void)state;
    bd_imap map;
    bd_imap_init(&map);
    size_t pos = 0;
    assert_null(bd_imap_get(&map, 7));
    assert_null(bd_imap_remove(&map, 7));
    assert_false(bd_imap_next(&map, &pos, NULL, NULL));
    bd_imap_fini(&map);
}

// ---- Hash ----

static void hashes_spread(void **state)
{
    (void)state;
    static int buckets[256];
    char key[64];
    for (int i = 0; i < 25600; i++) {
        int len = snprintf(key, sizeof key, "/job:ps/replica:0/task:0/cpu:0;edge_%d", i);
        buckets[bd_hash_bytes(key, (size_t)len) & 255]++;
    }
    // Each bucket expects 100 with a deviation of 10; a deviation of eight times that does not happen by
    // chance.
    for (int i = 0; i < 256; i++)
        assert_in_range(buckets[i], 20, 180);
    assert_int_equal(bd_hash_bytes("abcdefghi", 9), bd_hash_bytes("abcdefghi", 9));
    assert_int_not_equal(bd_hash_bytes("a\0", 2), bd_hash_bytes("a", 1));
}

static void the_bytes_of_a_map_are_those_of_its_keys_and_tables(void **state)
{
    (void)state;
    bd_map m = {0};
    assert_int_equal(bd_map_bytes(&m), 0);
    bd_map_put(&m, "a", &m);
    const size_t one = bd_map_bytes(&m);
    char key[1001] = {0};
    memset(key, 'k', 1000);
    bd_map_put(&m, key, &m);
    bd_map_put(&m, key, NULL); // the key is there
    assert_int_equal(bd_map_bytes(&m), one + 1001);
    bd_map_remove(&m, key);
    bd_map_remove(&m, key);
    assert_int_equal(bd_map_bytes(&m), one);
    bd_map_fini(&m);
    assert_int_equal(bd_map_bytes(&m), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_as_a_list_of_pairs),
        cmocka_unit_test(keys_are_bytes_and_are_copied),
        cmocka_unit_test(a_null_value_is_not_an_absent_key),
        cmocka_unit_test(the_current_entry_may_be_removed),
        cmocka_unit_test(removed_places_are_used_again),
        cmocka_unit_test(numbers_behave_as_a_table),
        cmocka_unit_test(an_empty_imap_answers),
        cmocka_unit_test(hashes_spread),
        cmocka_unit_test(the_bytes_of_a_map_are_those_of_its_keys_and_tables),
    };
    return BD_RUN_TESTS(tests);
}
