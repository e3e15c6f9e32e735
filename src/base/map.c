// Hash maps with open addressing.
//
// bd_map: entries stand in an array in order of insertion; `index` holds entry numbers + 1, at most half of
// it used. A removed entry keeps its place in both (key NULL, a tombstone), so that iteration may remove;
// growth drops it. bd_imap: linear probing, at most three quarters full, removal moves later slots back, so
// there are no tombstones.
#include "base/map.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/random.h"
#include <stdatomic.h>
#include <string.h>

// ---- Hashing ----

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// Drawn once per process, so that a peer cannot choose names that collide.
static uint64_t hash_seed(void)
{
    static atomic_uint_fast64_t seed;
    uint64_t current = atomic_load_explicit(&seed, memory_order_relaxed);
    if (current) return current;
    uint64_t expected = 0, drawn = bd_random_u64() | 1;
    return atomic_compare_exchange_strong(&seed, &expected, drawn) ? drawn : expected;
}

uint64_t bd_hash_bytes(const void *data, size_t len)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15, k1 = 0xd1b54a32d192ed03; // odd numbers with mixed bits
    const char *p = data;
    uint64_t hash = hash_seed() ^ len, word;
    for (; len >= 8; len -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = fold(hash ^ word, k0) + k1;
    }
    word = 0;
    if (len) memcpy(&word, p, len);
    return fold(fold(hash ^ word, k0) + k1, k0);
}

// ---- bd_map ----

void bd_map_init(bd_map *m)
{
    *m = (bd_map){0};
}

void bd_map_fini(bd_map *m)
{
    for (size_t i = 0; i < m->entry_len; i++)
        bd_free(m->entries[i].key);
    bd_free(m->entries);
    bd_free(m->index);
    *m = (bd_map){0};
}

void bd_map_clear(bd_map *m)
{
    bd_map_fini(m);
}

static bd_map_entry *find(const bd_map *m, const char *key, size_t len, uint64_t hash)
{
    if (m->index_cap == 0) return NULL;
    for (size_t i = hash & (m->index_cap - 1);; i = (i + 1) & (m->index_cap - 1)) {
        if (m->index[i] == 0) return NULL;
        bd_map_entry *e = &m->entries[m->index[i] - 1];
        if (e->key && e->hash == hash && e->key_len == len && memcmp(e->key, key, len) == 0) return e;
    }
}

static void index_entry(bd_map *m, size_t number)
{
    size_t i = m->entries[number].hash & (m->index_cap - 1);
    while (m->index[i] != 0)
        i = (i + 1) & (m->index_cap - 1);
    m->index[i] = (uint32_t)number + 1;
}

// Drops removed entries, and doubles the room unless that alone made half of it free.
static void make_room(bd_map *m)
{
    size_t cap = m->entry_cap ? m->entry_cap : 8;
    if (m->count > cap / 2) cap *= 2;
    BD_ASSERT(cap <= UINT32_MAX / 2);
    size_t kept = 0;
    for (size_t i = 0; i < m->entry_len; i++) {
        if (m->entries[i].key) m->entries[kept++] = m->entries[i];
    }
    m->entry_len = kept;
    m->entries = bd_realloc(m->entries, cap * sizeof *m->entries);
    m->entry_cap = cap;
    bd_free(m->index);
    m->index_cap = 2 * cap;
    m->index = bd_calloc(m->index_cap, sizeof *m->index);
    for (size_t i = 0; i < kept; i++)
        index_entry(m, i);
}

void *bd_map_put_n(bd_map *m, const char *key, size_t len, void *value)
{
    uint64_t hash = bd_hash_bytes(key, len);
    bd_map_entry *e = find(m, key, len, hash);
    if (e) {
        void *old = e->value;
        e->value = value;
        return old;
    }
    if (m->entry_len == m->entry_cap) make_room(m);
    char *copy = bd_malloc(len + 1);
    if (len) memcpy(copy, key, len);
    copy[len] = '\0';
    m->entries[m->entry_len] = (bd_map_entry){.key = copy, .key_len = len, .hash = hash, .value = value};
    index_entry(m, m->entry_len++);
    m->count++;
    m->key_bytes += len + 1;
    return NULL;
}

void *bd_map_put(bd_map *m, const char *key, void *value)
{
    return bd_map_put_n(m, key, strlen(key), value);
}

void *bd_map_get_n(const bd_map *m, const char *key, size_t len)
{
    if (m->count == 0) return NULL;
    bd_map_entry *e = find(m, key, len, bd_hash_bytes(key, len));
    return e ? e->value : NULL;
}

void *bd_map_get(const bd_map *m, const char *key)
{
    return bd_map_get_n(m, key, strlen(key));
}

bool bd_map_has(const bd_map *m, const char *key)
{
    size_t len = strlen(key);
    return find(m, key, len, bd_hash_bytes(key, len)) != NULL;
}

void *bd_map_remove_n(bd_map *m, const char *key, size_t len)
{
    bd_map_entry *e = find(m, key, len, bd_hash_bytes(key, len));
    if (!e) return NULL;
    void *value = e->value;
    m->key_bytes -= len + 1;
    bd_free(e->key); // `key` may be this very text: not read any more
    *e = (bd_map_entry){0};
    m->count--;
    return value;
}

void *bd_map_remove(bd_map *m, const char *key)
{
    return bd_map_remove_n(m, key, strlen(key));
}

size_t bd_map_count(const bd_map *m)
{
    return m->count;
}

size_t bd_map_bytes(const bd_map *m)
{
    return m->entry_cap * sizeof *m->entries + m->index_cap * sizeof *m->index + m->key_bytes;
}

bool bd_map_next(const bd_map *m, size_t *pos, const char **key, void **value)
{
    while (*pos < m->entry_len && !m->entries[*pos].key)
        (*pos)++;
    if (*pos == m->entry_len) return false;
    const bd_map_entry *e = &m->entries[(*pos)++];
    if (key) *key = e->key;
    if (value) *value = e->value;
    return true;
}

// ---- bd_imap ----

void bd_imap_init(bd_imap *m)
{
    *m = (bd_imap){0};
}

void bd_imap_fini(bd_imap *m)
{
    bd_free(m->slots);
    *m = (bd_imap){0};
}

static size_t home(const bd_imap *m, uint64_t key)
{
    return fold(key ^ 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03) & (m->cap - 1);
}

// The slot of the key, or the free one where it would go. The map has slots.
static size_t imap_find(const bd_imap *m, uint64_t key)
{
    size_t i = home(m, key);
    while (m->slots[i].value && m->slots[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

static void imap_grow(bd_imap *m)
{
    bd_imap old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->slots = bd_calloc(m->cap, sizeof *m->slots);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.slots[i].value) m->slots[imap_find(m, old.slots[i].key)] = old.slots[i];
    }
    bd_free(old.slots);
}

void *bd_imap_put(bd_imap *m, uint64_t key, void *value)
{
    BD_ASSERT(value);
    if (m->count + 1 > m->cap / 4 * 3) imap_grow(m);
    bd_imap_slot *slot = &m->slots[imap_find(m, key)];
    void *old = slot->value;
    if (!old) m->count++;
    *slot = (bd_imap_slot){.key = key, .value = value};
    return old;
}

void *bd_imap_get(const bd_imap *m, uint64_t key)
{
    return m->count ? m->slots[imap_find(m, key)].value : NULL;
}

void *bd_imap_remove(bd_imap *m, uint64_t key)
{
    if (m->count == 0) return NULL;
    size_t hole = imap_find(m, key), mask = m->cap - 1;
    void *value = m->slots[hole].value;
    if (!value) return NULL;
    // Move back what was pushed past the hole: a slot whose home is not between the hole and itself.
    for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
        size_t distance = (i - home(m, m->slots[i].key)) & mask;
        if (distance >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (bd_imap_slot){0};
    m->count--;
    return value;
}

size_t bd_imap_count(const bd_imap *m)
{
    return m->count;
}

bool bd_imap_next(const bd_imap *m, size_t *pos, uint64_t *key, void **value)
{
    while (*pos < m->cap && !m->slots[*pos].value)
        (*pos)++;
    if (*pos >= m->cap) return false;
    if (key) *key = m->slots[*pos].key;
    if (value) *value = m->slots[*pos].value;
    (*pos)++;
    return true;
}
