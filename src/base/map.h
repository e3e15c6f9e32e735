// Hash maps: bd_map from byte strings and bd_imap from 64-bit numbers to pointers.
//
// Values are not owned. Reading is const and changes nothing, so any number of threads may read a map that
// does not change. Zero-initialized is a valid empty map.
#ifndef BD_BASE_MAP_H
#define BD_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- bd_map: keys are copied by the map; iteration is in the order of insertion ----

typedef struct bd_map_entry {
    char *key; // owned, zero-terminated; NULL: removed
    size_t key_len;
    uint64_t hash;
    void *value; // not owned
} bd_map_entry;

typedef struct bd_map {
    bd_map_entry *entries; // in order of insertion, removed ones stay until the next growth
    uint32_t *index;       // open addressing: entry number + 1, 0 free
    size_t entry_len, entry_cap, index_cap, count;
    size_t key_bytes; // of all keys
} bd_map;

void bd_map_init(bd_map *m);
void bd_map_fini(bd_map *m);  // empty and usable afterwards; values are the caller's
void bd_map_clear(bd_map *m); // the same

// Sets the value of a key and returns the previous one (NULL: none). An existing key keeps its position in
// the order.
void *bd_map_put(bd_map *m, const char *key, void *value);
void *bd_map_put_n(bd_map *m, const char *key, size_t len, void *value);

// The value, NULL when the key is not there.
void *bd_map_get(const bd_map *m, const char *key);
void *bd_map_get_n(const bd_map *m, const char *key, size_t len);
bool bd_map_has(const bd_map *m, const char *key); // distinguishes an absent key from a NULL value

// Removes the key and returns its value, NULL when it was not there.
void *bd_map_remove(bd_map *m, const char *key);
void *bd_map_remove_n(bd_map *m, const char *key, size_t len);

size_t bd_map_count(const bd_map *m);
size_t bd_map_bytes(const bd_map *m); // that the map has allocated

// Iterates; `key` and `value` may be NULL. The current entry may be removed meanwhile; no entry may be added.
//     size_t pos = 0; const char *key; void *value;
//     while (bd_map_next(&m, &pos, &key, &value)) ...
bool bd_map_next(const bd_map *m, size_t *pos, const char **key, void **value);

// The hash that maps use (differs from process to process).
uint64_t bd_hash_bytes(const void *data, size_t len);

// ---- bd_imap: any key; a value is never NULL; iteration in no useful order, but the same for the same
// history ----

typedef struct bd_imap_slot {
    uint64_t key;
    void *value; // NULL: free
} bd_imap_slot;

typedef struct bd_imap {
    bd_imap_slot *slots;
    size_t cap, count;
} bd_imap;

void bd_imap_init(bd_imap *m);
void bd_imap_fini(bd_imap *m);                            // empty and usable afterwards
void *bd_imap_put(bd_imap *m, uint64_t key, void *value); // returns the previous value; NULL: none
void *bd_imap_get(const bd_imap *m, uint64_t key);
void *bd_imap_remove(bd_imap *m, uint64_t key);
size_t bd_imap_count(const bd_imap *m);
// No entry may be added or removed during iteration.
bool bd_imap_next(const bd_imap *m, size_t *pos, uint64_t *key, void **value);

#endif
