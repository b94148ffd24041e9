// Command delay puts a distance before a server, for benchmarks: every byte takes so much
// longer in each direction. It prints the address to connect to.
//
//	go run ./bench/delay -to 127.0.0.1:7070 -each 10ms
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/shardify/shardify/internal/servertest"
)

func main() {
	to := flag.String("to", "", "the server")
	each := flag.Duration("each", 10*time.Millisecond, "how long each direction takes")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "delay:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	servertest.Delay(l, *to, *each)
}
