// Functions at run time: the environment in which steps call them (op/function.h), with the compiled bodies.
//
// An environment belongs to a graph that was compiled for the devices of this process; it has one view for
// each device. A function is compiled once for each set of attr values, kind of call and device: its body
// becomes an executable of its own, rewritten like the graph. A call is one run of it with a call frame, a
// token below the caller's, and loop frames of its own.
#ifndef BD_RUNTIME_FUNCTION_RUNTIME_H
#define BD_RUNTIME_FUNCTION_RUNTIME_H

#include "op/function.h"
#include "runtime/executable.h"

// Makes an environment with count 1 over `library` (one more reference is taken; NULL: no functions). The
// devices must outlive it; the arrays are copied. Functions use `resources` (one more reference is taken;
// NULL: those of the device that they run on). `disabled_rewrites` as for bd_executable_compile.
bd_function_runtime *bd_function_runtime_new(bd_library *library, const bd_local_devices *devices,
                                             bd_resources *resources, unsigned disabled_rewrites);

// The view of the same environment from another of its devices.
bd_function_runtime *bd_function_runtime_on(bd_function_runtime *fs, const bd_device *device);

// Empties a step's container on all devices: functions may have stored resources on devices on which the step
// has no nodes.
void bd_function_runtime_clear(bd_function_runtime *fs, const char *container);

#endif
