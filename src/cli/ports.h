// Free loopback ports for the tasks of a cluster on this host.
#ifndef BD_CLI_PORTS_H
#define BD_CLI_PORTS_H

#include <stdbool.h>

// A free port, reserved among all callers of this function on the host as long as `reservation` (a
// descriptor) is open.
typedef struct bd_port {
    int number;
    int reservation;
} bd_port;

// Reserves `count` ports. Returns false (with errno) when there are not enough. Ports are below the ephemeral
// range, from which the system assigns none.
bool bd_ports_take(bd_port *ports, int count);
void bd_ports_release(bd_port *ports, int count);

#endif
