/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault proxy: see fault-proxy.h. */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "fault-proxy.h"

#define TICK_MS      2
#define BUFFER_BYTES 65536
#define TRICKLE_MAX  1500

enum {
    SOURCE,
    TARGET
};

struct FaultProxy {
    int listener, deaf_fd, port, target_port;
    pthread_t thread;
    _Atomic int mode, seen; /* as set; what the thread goes by */
    _Atomic bool quit;
    _Atomic uint64_t bytes, rate;

    /* The thread's. */
    int fd[2]; /* -1: none (any more) */
    bool half_done;
    uint32_t random;
};

static int tcp_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 65536;

    g_assert_cmpint(fd, >=, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    return fd;
}

static int connect_to(int port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = tcp_socket();

    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void close_both(FaultProxy *p, bool reset)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };

    for (int i = 0; i < 2; i++) {
        if (p->fd[i] >= 0) {
            if (reset) {
                setsockopt(p->fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
            }
            close(p->fd[i]);
            p->fd[i] = -1;
        }
    }
}

static ProxyMode look_at_mode(FaultProxy *p)
{
    int mode = atomic_load(&p->mode);

    atomic_store(&p->seen, mode);
    return mode;
}

static void write_all(FaultProxy *p, int side, const char *buf, size_t len)
{
    while (len && !atomic_load(&p->quit)) {
        ssize_t n = send(p->fd[side], buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN) {
            g_usleep(TICK_MS * 1000);
            /* A test that says CUT does not wait for who does not read. */
            if (look_at_mode(p) >= PROXY_CUT) {
                return;
            }
            continue;
        }
        if (n < 0) {
            close_both(p, false);
            return;
        }
        buf += n;
        len -= n;
        if (side == TARGET) {
            atomic_fetch_add(&p->bytes, n);
        }
    }
}

/* What @side wrote goes on to the other one. */
static void move(FaultProxy *p, int side, ProxyMode mode)
{
    char buf[BUFFER_BYTES];
    size_t most = sizeof(buf);
    ssize_t n;

    if (mode == PROXY_TRICKLE) {
        p->random = p->random * 1664525u + 1013904223u;
        most = 1 + (p->random >> 8) % TRICKLE_MAX;
        if (p->random >> 28 == 0) {
            g_usleep(500);
        }
    }
    n = recv(p->fd[side], buf, most, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
        return;
    }
    if (n <= 0) {
        close_both(p, n < 0);
    } else if (mode != PROXY_DROP) {
        write_all(p, !side, buf, n);
        if (side == SOURCE && atomic_load(&p->rate)) {
            g_usleep((gulong)n * G_USEC_PER_SEC / atomic_load(&p->rate));
        }
    }
}

static short wanted(int side, ProxyMode mode)
{
    bool read = mode == PROXY_HALF ? side == TARGET : mode != PROXY_HOLD;

    /* An end behind bytes that were not taken yet is not seen yet. */
    return read ? POLLIN : side == TARGET ? POLLRDHUP : 0;
}

static void run_once(FaultProxy *p)
{
    ProxyMode mode = look_at_mode(p);
    struct pollfd pfd[2];

    if (mode == PROXY_CUT || mode == PROXY_RESET) {
        close_both(p, mode == PROXY_RESET);
        return;
    }
    if (mode == PROXY_HALF && !p->half_done) {
        p->half_done = true;
        shutdown(p->fd[TARGET], SHUT_WR);
    }
    for (int i = 0; i < 2; i++) {
        pfd[i] = (struct pollfd){ .fd = p->fd[i], .events = wanted(i, mode) };
    }
    if (poll(pfd, 2, TICK_MS) <= 0) {
        return;
    }
    for (int i = 0; i < 2 && p->fd[i] >= 0; i++) {
        if (pfd[i].revents & POLLIN) {
            move(p, i, mode);
        } else if (pfd[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) {
            close_both(p, false);
        }
    }
}

static void *proxy_thread(void *opaque)
{
    FaultProxy *p = opaque;
    struct pollfd pfd = { .fd = p->listener, .events = POLLIN };

    while (!atomic_load(&p->quit)) {
        if (p->fd[SOURCE] >= 0) {
            run_once(p);
            continue;
        }
        look_at_mode(p);
        if (p->deaf_fd >= 0 || p->listener < 0) {
            g_usleep(TICK_MS * 1000);
            if (p->listener >= 0 && atomic_load(&p->mode) == PROXY_CUT) {
                close(p->deaf_fd);
                close(p->listener);
                p->listener = p->deaf_fd = -1;
            }
        } else if (poll(&pfd, 1, TICK_MS) > 0) {
            p->fd[SOURCE] = accept(p->listener, NULL, NULL);
            p->fd[TARGET] = connect_to(p->target_port);
            close(p->listener);
            p->listener = -1;
            if (p->fd[TARGET] < 0) {
                close_both(p, false);
            }
        }
    }
    close_both(p, false);
    return NULL;
}

FaultProxy *fault_proxy_new(int target_port, bool deaf)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    FaultProxy *p = g_new0(FaultProxy, 1);
    socklen_t len = sizeof(sa);

    p->fd[SOURCE] = p->fd[TARGET] = p->deaf_fd = -1;
    p->target_port = target_port;
    p->listener = tcp_socket();
    g_assert_cmpint(bind(p->listener, (struct sockaddr *)&sa, len), ==, 0);
    g_assert_cmpint(listen(p->listener, 0), ==, 0);
    getsockname(p->listener, (struct sockaddr *)&sa, &len);
    p->port = ntohs(sa.sin_port);
    if (deaf) {
        /* Takes the only place in the queue. */
        p->deaf_fd = connect_to(p->port);
    }
    pthread_create(&p->thread, NULL, proxy_thread, p);
    return p;
}

void fault_proxy_free(FaultProxy *p)
{
    if (!p) {
        return;
    }
    atomic_store(&p->quit, true);
    pthread_join(p->thread, NULL);
    if (p->listener >= 0) {
        close(p->listener);
    }
    if (p->deaf_fd >= 0) {
        close(p->deaf_fd);
    }
    g_free(p);
}

int fault_proxy_port(const FaultProxy *p)
{
    return p->port;
}

void fault_proxy_set(FaultProxy *p, ProxyMode mode)
{
    atomic_store(&p->mode, mode);
    while (atomic_load(&p->seen) != (int)mode) {
        g_usleep(200);
    }
}

void fault_proxy_set_rate(FaultProxy *p, uint64_t rate)
{
    atomic_store(&p->rate, rate);
}

uint64_t fault_proxy_bytes(FaultProxy *p)
{
    return atomic_load(&p->bytes);
}
