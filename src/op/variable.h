// Variables: the resource behind VariableV2 (updated in place) and VarHandleOp (copied first while a reader
// holds it).
//
// A reference variable is Hogwild's by design: with use_locking=false its readers and writers race on
// naturally aligned words. All code that may race in this way is in functions marked BD_HOGWILD.
//
// A snapshot costs no copy. It clears the mark is_variable of a reference variable's buffer, whose content
// then stays as it is: the next change goes to new memory if the buffer has another holder, as that of a
// resource variable does, and sets the mark again if not. Changes without the lock are counted, and a
// snapshot waits for those in progress; later ones wait for the snapshot.
#ifndef BD_OP_VARIABLE_H
#define BD_OP_VARIABLE_H

#include "base/hogwild.h"
#include "base/thread.h"
#include "op/resource.h"
#include "tensor/tensor.h"

// What waits for a value of a counter. Its functions are called without the variable's lock, by a thread that
// holds a reference to the variable.
typedef struct bd_variable_watch {
    void (*changed)(struct bd_variable_watch *watch);
    void (*abandoned)(struct bd_variable_watch *watch);
    void (*destroy)(struct bd_variable_watch *watch); // with the variable
} bd_variable_watch;

typedef struct bd_variable {
    bd_resource base;
    bd_mutex mu;
    braid_dtype dtype; // constant
    // Guarded by mu; "no tensor" until assigned, with the declared shape (unknown if none was declared). Its
    // elements: see above.
    braid_tensor tensor;
    bd_variable_watch *watch;       // NULL: none; stays once it is set; owned; guarded by mu
    bool is_reference;              // made by VariableV2
    int writers;                    // guarded by mu: the changes in progress that do not hold mu
    int snapshots_waiting;          // guarded by mu: for those changes to end
    int row_readers;                // guarded by mu: reads of rows in progress
    int changes_waiting;            // guarded by mu: for those reads to end
    bd_cond settled;                // one of the four counts above has become 0
    atomic_bool is_changed;         // see bd_variables_track
    _Atomic size_t described_bytes; // of the content, when a description of the task last saw it
    bool is_copied;                 // of the thread that copies the variables to another process
    atomic_bool abandoned; // taken out of its container (Reset): its content is gone, look it up again
} bd_variable;

extern const bd_resource_type bd_variable_type;     // of resource variables
extern const bd_resource_type bd_ref_variable_type; // of reference variables

bd_variable *bd_variable_new(braid_dtype dtype, bool is_reference);

// Makes `out` a reference to the present content. Returns false when it is uninitialized.
bool bd_variable_read(bd_variable *v, braid_tensor *out);

// As bd_variable_read, of a state between two changes, and no change reaches `out`: see above.
bool bd_variable_snapshot(bd_variable *v, braid_tensor *out);

// Reads some rows of a resource variable: makes `out` a reference to the content, from which the caller
// copies rows at once, without waiting for anything. A change of elements waits until the end of the read,
// and so it need not copy the whole content first, as it does for a reader of bd_variable_read. Returns false
// when the variable is uninitialized; nothing is to be ended then.
bool bd_variable_begin_rows(bd_variable *v, braid_tensor *out);
void bd_variable_end_rows(bd_variable *v, braid_tensor *out); // releases `out`

// Assigns the content of `value`: copies it into the present memory if the shape is the same and changes may
// be made in place, else into new memory. A uniquely held `value` is taken over in place of new memory, and
// if it is large also in place of present memory that has no other holder. `value` stays the caller's.
// ResourceExhausted.
braid_code bd_variable_assign(bd_variable *v, braid_tensor *value, braid_status *st);

// ---- Changes ----
//
// A copy of the variables in another process is kept up to date by sending those that have changed. A change
// sets the variable's is_changed, then raises the count of all changes of this process: when the count covers
// a change, its variable is marked. A change under the variable's lock may be marked before it is made; the
// one that copies clears the mark, then copies under the lock. A change without the lock is marked when it is
// over, so that a torn copy is sent again.

// Changes are marked and counted from now on; before, neither costs anything.
void bd_variables_track(void);
uint64_t bd_variables_changes(void);
// Counts a change that no mark stands for: a variable that is gone.
void bd_variables_count_change(void);
void bd_variable_mark_changed(bd_variable *v);
// Makes a copy of the present content, or "no tensor" when it is uninitialized. ResourceExhausted.
braid_code bd_variable_copy(bd_variable *v, braid_tensor *out, braid_status *st);

// ---- Changes in place ----

typedef enum bd_variable_part {
    BD_VARIABLE_ELEMENTS, // some elements: `value` has the content from the begin on
    BD_VARIABLE_WHOLE     // each element once, computed from the same element of `before`
} bd_variable_part;

// A change of elements, from bd_variable_begin_change to bd_variable_end_change.
typedef struct bd_variable_change {
    bd_variable *v;
    braid_tensor value;  // the memory to write, held; "no tensor": the variable is uninitialized
    braid_tensor before; // the content to change, held: in the same memory, or for WHOLE also in other memory
    bool is_locked;
} bd_variable_change;

// Begins a change. With `lock`, and always of a resource variable, the change holds the variable's lock until
// its end; else other changes and reads go on meanwhile. Changes of several variables begin in the order of
// the variables' addresses. It is ended in any case, also after an error. ResourceExhausted.
braid_code bd_variable_begin_change(bd_variable_change *c, bd_variable *v, bd_variable_part part, bool lock,
                                    braid_status *st);
// `is_made`: all elements that were to change have been written; else other memory than the variable's is
// dropped.
void bd_variable_end_change(bd_variable_change *c, bool is_made);

// Tells the watch of a counter (int32 or int64) that the value has changed. Called without mu, after each
// change that is neither bd_variable_assign nor from bd_variable_begin_change to bd_variable_end_change.
void bd_variable_tell_watch(bd_variable *v);

// Makes the memory writable for changes under the lock, which the caller holds: copies it first when it may
// not be changed in place. FailedPrecondition when uninitialized: the caller words it.
braid_code bd_variable_make_writable_locked(bd_variable *v, braid_status *st);

#endif
