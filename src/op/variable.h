// Variables: the resource behind VariableV2 (updated in place) and VarHandleOp (copied first while a reader
// holds it).
//
// A reference variable is Hogwild's by design: with use_locking=false its readers and writers race on
// naturally aligned words. All code that may race in this way is in functions marked BD_HOGWILD.
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
    bd_variable_watch *watch; // NULL: none; stays once it is set; owned; guarded by mu
    bool is_reference;        // made by VariableV2
    atomic_bool is_changed;   // see bd_variables_track
    bool is_copied;           // of the thread that copies the variables to another process
    atomic_bool abandoned;    // taken out of its container (Reset): its content is gone, look it up again
} bd_variable;

extern const bd_resource_type bd_variable_type;     // of resource variables
extern const bd_resource_type bd_ref_variable_type; // of reference variables

bd_variable *bd_variable_new(braid_dtype dtype, bool is_reference);

// Makes `out` a reference to the present content. Returns false when it is uninitialized.
bool bd_variable_read(bd_variable *v, braid_tensor *out);

// Assigns the content of `value`: copies it into the present memory if the shape is the same and (for a
// resource variable) the memory has no other holder, else into new memory; a uniquely held `value` is taken
// over. `value` stays the caller's. ResourceExhausted.
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

// A change of some or all elements, from bd_variable_begin_change to bd_variable_end_change.
typedef struct bd_variable_change {
    bd_variable *v;
    braid_tensor value; // the content to change, held; "no tensor": the variable is uninitialized
    bool is_locked;
} bd_variable_change;

// Begins a change. With `lock`, and always of a resource variable, the change holds the variable's lock until
// its end; else other changes and reads go on meanwhile. Changes of several variables begin in the order of
// the variables' addresses. It is ended in any case, also after an error. ResourceExhausted.
braid_code bd_variable_begin_change(bd_variable_change *c, bd_variable *v, bool lock, braid_status *st);
void bd_variable_end_change(bd_variable_change *c);

// Tells the watch of a counter (int32 or int64) that the value has changed. Called without mu, after each change
// that is neither bd_variable_assign nor from bd_variable_begin_change to bd_variable_end_change.
void bd_variable_changed(bd_variable *v);

// Makes the memory writable for updates in place (mu held by the caller for use_locking=true and for resource
// variables): copies the memory of a resource variable first when it has another holder. FailedPrecondition
// when uninitialized: the caller words it.
braid_code bd_variable_make_writable_locked(bd_variable *v, braid_status *st);

#endif
