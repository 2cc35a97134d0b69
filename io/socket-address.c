/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket addresses: text, QAPI values and the kernel's form.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "qemu/cutils.h"

#include "socket-internal.h"

/*
 * Text.
 */

/* Whether @key is an option that is a number; then *@has and *@value. */
static bool number_option(InetSocketAddress *inet, const char *key, bool **has,
                          uint32_t **value)
{
    const struct {
        const char *name;
        bool *has;
        uint32_t *value;
    } options[] = {
        { "keep-alive-count", &inet->has_keep_alive_count,
          &inet->keep_alive_count },
        { "keep-alive-idle", &inet->has_keep_alive_idle,
          &inet->keep_alive_idle },
        { "keep-alive-interval", &inet->has_keep_alive_interval,
          &inet->keep_alive_interval },
        { "user-timeout", &inet->has_user_timeout, &inet->user_timeout },
    };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (g_str_equal(key, options[i].name)) {
            *has = options[i].has;
            *value = options[i].value;
            return true;
        }
    }
    return false;
}

static bool parse_inet_option(InetSocketAddress *inet, const char *opt,
                              Error **errp)
{
    const char *eq = strchr(opt, '=');
    g_autofree char *key = eq ? g_strndup(opt, eq - opt) : g_strdup(opt);
    const char *value = eq ? eq + 1 : "on";
    uint64_t n = 0;
    uint32_t *number;
    bool *has;

    if (number_option(inet, key, &has, &number)) {
        if (parse_uint_full(value, 10, &n) || n > UINT32_MAX) {
            error_setg(errp, "'%s=%s' is no number", key, value);
            return false;
        }
        *has = true;
        *number = n;
        return true;
    }
    if (g_str_equal(key, "to")) {
        if (parse_uint_full(value, 10, &n) || n > UINT16_MAX) {
            error_setg(errp, "'%s' is no port number", value);
            return false;
        }
        inet->has_to = true;
        inet->to = n;
        return true;
    }
    if (g_str_equal(key, "ipv4")) {
        inet->has_ipv4 = true;
        return qemu_parse_bool(key, value, &inet->ipv4, errp);
    }
    if (g_str_equal(key, "ipv6")) {
        inet->has_ipv6 = true;
        return qemu_parse_bool(key, value, &inet->ipv6, errp);
    }
    if (g_str_equal(key, "keep-alive")) {
        inet->has_keep_alive = true;
        return qemu_parse_bool(key, value, &inet->keep_alive, errp);
    }
    error_setg(errp, "'%s' is no option of a socket address", key);
    return false;
}

/* "HOST:PORT" or "[V6]:PORT" at @str; sets both. */
static bool parse_host_port(InetSocketAddress *inet, const char *str,
                            Error **errp)
{
    const char *colon;

    if (*str == '[') {
        const char *end = strchr(str, ']');

        colon = end ? end + 1 : NULL;
        if (colon && *colon == ':') {
            inet->host = g_strndup(str + 1, end - str - 1);
            inet->has_numeric = false;
        } else {
            colon = NULL;
        }
    } else {
        colon = strchr(str, ':');
        if (colon) {
            inet->host = g_strndup(str, colon - str);
        }
    }
    if (!colon || !colon[1] || strchr(colon + 1, ':')) {
        error_setg(errp,
                   "'%s' is no socket address: expected HOST:PORT or "
                   "[IPv6]:PORT",
                   str);
        return false;
    }
    inet->port = g_strdup(colon + 1);
    return true;
}

static bool parse_inet(InetSocketAddress *inet, const char *str, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(str, ",", -1);

    if (!parse_host_port(inet, parts[0] ? parts[0] : "", errp)) {
        return false;
    }
    for (char **opt = parts + 1; *opt; opt++) {
        if (!parse_inet_option(inet, *opt, errp)) {
            return false;
        }
    }
    return true;
}

SocketAddress *socket_parse(const char *str, Error **errp)
{
    g_autoptr(SocketAddress) addr = g_new0(SocketAddress, 1);
    const char *rest;

    if (strstart(str, "unix:", &rest)) {
        addr->type = SOCKET_ADDRESS_TYPE_UNIX;
        addr->u.q_unix.path = g_strdup(rest);
        if (!*rest) {
            error_setg(errp, "'%s' has no path", str);
            return NULL;
        }
    } else if (strstart(str, "fd:", &rest)) {
        addr->type = SOCKET_ADDRESS_TYPE_FD;
        addr->u.fd.str = g_strdup(rest);
        if (!*rest) {
            error_setg(errp, "'%s' has no name or number", str);
            return NULL;
        }
    } else {
        addr->type = SOCKET_ADDRESS_TYPE_INET;
        if (!strstart(str, "tcp:", &rest)) {
            rest = str;
        }
        if (!parse_inet(&addr->u.inet, rest, errp)) {
            return NULL;
        }
    }
    return g_steal_pointer(&addr);
}

char *socket_uri(const SocketAddress *addr)
{
    switch (addr->type) {
    case SOCKET_ADDRESS_TYPE_INET:
        return g_strdup_printf(strchr(addr->u.inet.host, ':') ? "tcp:[%s]:%s"
                                                              : "tcp:%s:%s",
                               addr->u.inet.host, addr->u.inet.port);
    case SOCKET_ADDRESS_TYPE_UNIX:
        return g_strdup_printf("unix:%s", addr->u.q_unix.path);
    case SOCKET_ADDRESS_TYPE_FD:
        return g_strdup_printf("fd:%s", addr->u.fd.str);
    default:
        g_assert_not_reached();
    }
}

/*
 * Dead peers.
 */

/* What the kernel takes (include/net/tcp.h of Linux). */
static bool check_probe(const char *name, bool has, uint32_t value,
                        uint32_t most, Error **errp)
{
    if (has && (value < 1 || value > most)) {
        error_setg(errp, "%s is %" PRIu32 ", expected 1 to %" PRIu32, name,
                   value, most);
        return false;
    }
    return true;
}

bool socket_check_dead_peer(const InetSocketAddress *inet, Error **errp)
{
    bool on = inet->has_keep_alive && inet->keep_alive;

    if (!on && (inet->has_keep_alive_count || inet->has_keep_alive_idle ||
                inet->has_keep_alive_interval)) {
        error_setg(errp, "keep-alive-count, keep-alive-idle and "
                         "keep-alive-interval need keep-alive=on");
        return false;
    }
    if (inet->has_user_timeout && inet->user_timeout > INT_MAX) {
        error_setg(errp, "user-timeout is %" PRIu32 ", expected 0 to %d",
                   inet->user_timeout, INT_MAX);
        return false;
    }
    return check_probe("keep-alive-count", inet->has_keep_alive_count,
                       inet->keep_alive_count, 127, errp) &&
           check_probe("keep-alive-idle", inet->has_keep_alive_idle,
                       inet->keep_alive_idle, 32767, errp) &&
           check_probe("keep-alive-interval", inet->has_keep_alive_interval,
                       inet->keep_alive_interval, 32767, errp);
}

void socket_set_dead_peer(int fd, const InetSocketAddress *inet)
{
    if (inet->has_keep_alive && inet->keep_alive) {
        qio_socket_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    if (inet->has_keep_alive_count) {
        qio_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT,
                              inet->keep_alive_count);
    }
    if (inet->has_keep_alive_idle) {
        qio_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE,
                              inet->keep_alive_idle);
    }
    if (inet->has_keep_alive_interval) {
        qio_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL,
                              inet->keep_alive_interval);
    }
    if (inet->has_user_timeout) {
        qio_socket_set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
                              inet->user_timeout);
    }
}

/*
 * The kernel's form.
 */

static int wanted_family(const InetSocketAddress *inet, Error **errp)
{
    bool v4 = inet->has_ipv4 ? inet->ipv4 : !(inet->has_ipv6 && inet->ipv6);
    bool v6 = inet->has_ipv6 ? inet->ipv6 : !(inet->has_ipv4 && inet->ipv4);

    if (!v4 && !v6) {
        error_setg(errp, "An address that is neither IPv4 nor IPv6");
        return -1;
    }
    return v4 && v6 ? AF_UNSPEC : v4 ? AF_INET : AF_INET6;
}

static bool parse_port(const char *str, uint16_t *port, bool *numeric,
                       Error **errp)
{
    uint64_t n = 0;

    *numeric = g_ascii_isdigit(*str);
    if (!*numeric) {
        return true; /* a service's name: the resolver knows */
    }
    if (parse_uint_full(str, 10, &n) || n > UINT16_MAX) {
        error_setg(errp, "'%s' is no port number, expected 0 to 65535", str);
        return false;
    }
    *port = n;
    return true;
}

AddrInfo *socket_resolve(const InetSocketAddress *inet, bool passive,
                         Error **errp)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                              .ai_flags = passive ? AI_PASSIVE : 0 };
    const char *host = *inet->host ? inet->host : NULL;
    AddrInfo *res = NULL;
    bool numeric;
    uint16_t port;
    int rc;

    hints.ai_family = wanted_family(inet, errp);
    if (hints.ai_family < 0 || !parse_port(inet->port, &port, &numeric, errp)) {
        return NULL;
    }
    if (inet->has_numeric && inet->numeric) {
        hints.ai_flags |= AI_NUMERICHOST;
    }
    rc = getaddrinfo(host, inet->port, &hints, &res);
    if (rc) {
        error_setg(errp, "Cannot resolve '%s:%s': %s", inet->host, inet->port,
                   rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
        return NULL;
    }
    return res;
}

bool socket_port_range(const InetSocketAddress *inet, uint16_t *first,
                       uint16_t *last, Error **errp)
{
    bool numeric;

    *first = 0;
    if (!parse_port(inet->port, first, &numeric, errp)) {
        return false;
    }
    *last = *first;
    if (!inet->has_to) {
        return true;
    }
    if (!numeric || inet->to < *first) {
        error_setg(errp, "There is no range of ports from '%s' to %u",
                   inet->port, inet->to);
        return false;
    }
    *last = inet->to;
    return true;
}

void socket_set_port(struct sockaddr *sa, uint16_t port)
{
    if (sa->sa_family == AF_INET) {
        ((struct sockaddr_in *)sa)->sin_port = htons(port);
    } else if (sa->sa_family == AF_INET6) {
        ((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
    }
}

uint16_t socket_get_port(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)sa)->sin_port);
    }
    if (sa->sa_family == AF_INET6) {
        return ntohs(((const struct sockaddr_in6 *)sa)->sin6_port);
    }
    return 0;
}

bool socket_unix_address(const UnixSocketAddress *addr, struct sockaddr_un *un,
                         socklen_t *len, Error **errp)
{
    bool abstract = addr->has_abstract && addr->abstract;
    bool tight = !addr->has_tight || addr->tight;
    size_t n = strlen(addr->path);

    /* A path needs its NUL, an abstract name one in front. */
    if (n + 1 > sizeof(un->sun_path) || n == 0) {
        error_setg(errp,
                   "The socket path '%s' has %zu bytes, expected 1 to %zu",
                   addr->path, n, sizeof(un->sun_path) - 1);
        return false;
    }
    *un = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(un->sun_path + abstract, addr->path, n);
    *len = sizeof(*un);
    if (abstract && tight) {
        *len = offsetof(struct sockaddr_un, sun_path) + 1 + n;
    }
    return true;
}

static void unix_from_kernel(SocketAddress *addr, const struct sockaddr_un *un,
                             socklen_t len)
{
    size_t n = len - MIN(len, offsetof(struct sockaddr_un, sun_path));

    addr->type = SOCKET_ADDRESS_TYPE_UNIX;
    if (n && !un->sun_path[0]) {
        addr->u.q_unix.path = g_strndup(un->sun_path + 1, n - 1);
        addr->u.q_unix.has_abstract = addr->u.q_unix.abstract = true;
        addr->u.q_unix.has_tight = true;
        addr->u.q_unix.tight = n < sizeof(un->sun_path);
    } else {
        addr->u.q_unix.path = g_strndup(un->sun_path, n);
    }
}

SocketAddress *socket_address_from_kernel(const struct sockaddr_storage *sa,
                                          socklen_t len, Error **errp)
{
    g_autoptr(SocketAddress) addr = g_new0(SocketAddress, 1);
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int rc;

    if (sa->ss_family == AF_UNIX) {
        unix_from_kernel(addr, (const struct sockaddr_un *)sa, len);
        return g_steal_pointer(&addr);
    }
    if (sa->ss_family != AF_INET && sa->ss_family != AF_INET6) {
        error_setg(errp, "A socket of an unknown family %d", sa->ss_family);
        return NULL;
    }
    rc = getnameinfo((const struct sockaddr *)sa, len, host, sizeof(host), port,
                     sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
    if (rc) {
        error_setg(errp, "Cannot tell the address of a socket: %s",
                   gai_strerror(rc));
        return NULL;
    }
    addr->type = SOCKET_ADDRESS_TYPE_INET;
    addr->u.inet.host = g_strdup(host);
    addr->u.inet.port = g_strdup(port);
    return g_steal_pointer(&addr);
}
