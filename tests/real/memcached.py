"""A client of memcached: four connections at once, each with its own keys, and one counter for all.
Prints only what is the same in every order of the connections; then shuts memcached down."""
import socket
import sys
import threading
import time

ROUNDS = 600


def connect(path):
    for _ in range(600):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            return s.makefile("rwb", buffering=0)
        except OSError:
            time.sleep(0.1)
    sys.exit("no server")


def line(f, text):
    f.write(text.encode())
    return f.readline().decode().strip()


def get(f, key):
    head = line(f, f"get {key}\r\n")
    if head == "END":
        return None
    value = f.readline().decode().strip()
    assert f.readline() == b"END\r\n"
    return value


def work(path, n, out):
    f = connect(path)
    said = []
    for i in range(ROUNDS):
        key = f"k{n}-{i % 50}"
        value = f"{i}" * 20
        said.append(line(f, f"set {key} 0 0 {len(value)}\r\n{value}\r\n"))
        said.append(str(get(f, key) == value))
        line(f, "incr count 1\r\n")
        if i % 7 == 0:
            said.append(line(f, f"delete {key}\r\n"))
            said.append(str(get(f, key)))
    out[n] = said


path = sys.argv[1]
main = connect(path)
print(line(main, "set count 0 0 1\r\n0\r\n"))
out = {}
threads = [threading.Thread(target=work, args=(path, n, out)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for n in range(4):
    print(n, *out[n])
print(get(main, "count"))
main.write(b"shutdown\r\n")
