// Free loopback ports for the tasks of a cluster on this host.
#ifndef BD_CLI_PORTS_H
#define BD_CLI_PORTS_H

#include <stdbool.h>

// A port that nobody listens on, reserved among all users of this function on the host for as long as
// `reservation` (a descriptor) is open.
typedef struct bd_port {
    int number;
    int reservation;
} bd_port;

// Takes `count` ports; false (with errno) when there are none. Ports come from below the ephemeral range,
// where the system gives them to nobody.
bool bd_ports_take(bd_port *ports, int count);
void bd_ports_release(bd_port *ports, int count);

#endif
