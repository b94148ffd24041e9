/* drop HOST PORT CONNECTIONS [keep] < PATHS: fetches each path by HTTP and drops the bytes; prints how many came.
 *
 * It is the least that a client of an object store does: it neither checks nor keeps what it reads. With
 * keep each body is read into memory of its own, as by a client that has the bytes for a second epoch. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 8192, ROOM = 1 << 20, MOST = 1 << 16 };

static struct sockaddr_in server;
static const char *host;
static char *paths[MOST];
static int count, next;
static long long total;
static int keep;

static void fail(const char *what) {
	perror(what);
	exit(1);
}

/* fetch reads one answer: its head, whose end is anywhere in what came, and then its body. */
static void fetch(int fd, const char *path, char *buf) {
	int n = snprintf(buf, ROOM, "GET %s HTTP/1.1\r\nHost: %s:%d\r\n\r\n", path, host, ntohs(server.sin_port));
	if (send(fd, buf, n, 0) != n)
		fail("send");
	long long have = 0;
	char *end = NULL;
	while (end == NULL) {
		ssize_t k = recv(fd, buf + have, ROOM - 1 - have, 0);
		if (k <= 0)
			fail("recv");
		have += k;
		buf[have] = 0;
		end = strstr(buf, "\r\n\r\n");
	}
	char *length = strcasestr(buf, "\r\nContent-Length:");
	if (strncmp(buf + 8, " 200", 4) != 0 || length == NULL || length > end) {
		fprintf(stderr, "drop: %s: %.*s\n", path, (int)strcspn(buf, "\r"), buf);
		exit(1);
	}
	long long left = atoll(length + 17) - (have - (end + 4 - buf));
	__atomic_add_fetch(&total, atoll(length + 17), __ATOMIC_RELAXED);
	char *to = keep ? malloc(left) : buf;
	while (left > 0) {
		ssize_t k = recv(fd, to, left < ROOM ? left : ROOM, 0);
		if (k <= 0)
			fail("recv");
		left -= k;
		if (keep)
			to += k;
	}
}

static void *work(void *unused) {
	int fd = -1, k;
	char *buf = malloc(ROOM);
	while ((k = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < count) {
		if (fd < 0) {
			int yes = 1;
			fd = socket(AF_INET, SOCK_STREAM, 0);
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
			if (connect(fd, (struct sockaddr *)&server, sizeof server) != 0)
				fail("connect");
		}
		fetch(fd, paths[k], buf);
	}
	free(buf);
	return unused;
}

int main(int argc, char **argv) {
	keep = argc == 5 && strcmp(argv[4], "keep") == 0;
	if (argc != 4 && !keep) {
		fprintf(stderr, "usage: drop HOST PORT CONNECTIONS [keep] < PATHS\n");
		return 2;
	}
	host = argv[1];
	server.sin_family = AF_INET;
	server.sin_port = htons(atoi(argv[2]));
	inet_pton(AF_INET, host, &server.sin_addr);
	char line[LINE];
	while (count < MOST && fgets(line, LINE, stdin) != NULL) {
		line[strcspn(line, "\n")] = 0;
		paths[count++] = strdup(line);
	}
	int n = atoi(argv[3]);
	pthread_t *threads = malloc(n * sizeof *threads);
	for (int k = 0; k < n; k++)
		pthread_create(&threads[k], NULL, work, NULL);
	for (int k = 0; k < n; k++)
		pthread_join(threads[k], NULL);
	printf("%lld\n", total);
	return 0;
}
