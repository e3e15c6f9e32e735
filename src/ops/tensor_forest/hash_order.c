// The order of GNU's unordered_set.
#include "ops/tensor_forest/hash_order.h"

#include "base/check.h"

enum {
    NONE = -1,
    EMPTY = -2
};

bd_hash_order bd_hash_order_new(void)
{
    bd_hash_order h = {.first = NONE, .buckets = 1};
    h.before = bd_malloc(sizeof *h.before);
    h.before[0] = EMPTY;
    return h;
}

void bd_hash_order_free(bd_hash_order *h)
{
    bd_array_free(&h->entries);
    bd_free(h->before);
    h->before = NULL;
}

static size_t bucket_of(const bd_hash_order *h, int32_t entry)
{
    BD_ASSERT(h->buckets > 0);
    return (size_t)h->entries.items[entry].number % h->buckets;
}

static int32_t *next_of(bd_hash_order *h, int32_t entry)
{
    return entry < 0 ? &h->first : &h->entries.items[entry].next;
}

// Links an entry into its bucket. *front is the bucket of the list's first entry.
static void link_entry(bd_hash_order *h, int32_t entry, size_t *front)
{
    const size_t bucket = bucket_of(h, entry);
    if (h->before[bucket] == EMPTY) {
        const int32_t second = h->first;
        h->entries.items[entry].next = second;
        h->first = entry;
        if (second >= 0) h->before[*front] = entry;
        h->before[bucket] = NONE;
        *front = bucket;
    } else {
        int32_t *next = next_of(h, h->before[bucket]);
        h->entries.items[entry].next = *next;
        *next = entry;
    }
}

// The library doubles the buckets to the next number of a list of primes.
static size_t more_buckets(size_t buckets)
{
    static const size_t sizes[] = {1, 3, 7, 17, 37, 79, 167, 337, 709, 1493, 3209, 6427, 12983, 26267, 53201};
    for (size_t i = 0; i + 1 < BD_COUNTOF(sizes); i++)
        if (sizes[i] == buckets) return sizes[i + 1];
    return 2 * buckets + 1;
}

static void grow(bd_hash_order *h)
{
    const size_t buckets = more_buckets(h->buckets);
    h->before = bd_realloc(h->before, sizeof *h->before * buckets);
    h->buckets = buckets;
    for (size_t i = 0; i < buckets; i++)
        h->before[i] = EMPTY;
    int32_t entry = h->first;
    size_t front = 0;
    h->first = NONE;
    while (entry >= 0) {
        const int32_t next = h->entries.items[entry].next;
        link_entry(h, entry, &front);
        entry = next;
    }
}

static int32_t find(bd_hash_order *h, int32_t number)
{
    const size_t bucket = (size_t)number % h->buckets;
    if (h->before[bucket] == EMPTY) return NONE;
    for (int32_t at = *next_of(h, h->before[bucket]); at >= 0 && bucket_of(h, at) == bucket;
         at = h->entries.items[at].next)
        if (h->entries.items[at].number == number) return at;
    return NONE;
}

int32_t bd_hash_order_add(bd_hash_order *h, int32_t number)
{
    const int32_t found = find(h, number);
    if (found >= 0) return found;
    if (h->entries.len + 1 >= h->buckets) grow(h);
    const int32_t entry = (int32_t)h->entries.len;
    bd_array_push(&h->entries, (bd_hash_order_entry){number, NONE});
    size_t front = h->first >= 0 ? bucket_of(h, h->first) : 0;
    link_entry(h, entry, &front);
    return entry;
}
