// Command delay puts a distance before a server, for benchmarks: every byte takes so much
// longer in each direction, and no more come than a line can carry. It prints the address to connect to, and for each line of
// its input the bytes from the server, the round trips and the connections so far. It ends with its input.
//
//	go run ./bench/delay -to 127.0.0.1:7070 -each 10ms -rate 125
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/shardify/shardify/tests/netfault"
)

func main() {
	var x netfault.Link
	flag.StringVar(&x.To, "to", "", "the server")
	flag.DurationVar(&x.Delay, "each", 10*time.Millisecond, "how long each direction takes")
	rate := flag.Float64("rate", 0, "million bytes a second from the server (default: no limit)")
	flag.Parse()
	x.Rate = int64(*rate * 1e6)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "delay:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go x.Serve(l)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(x.Down.Load(), x.Turns.Load(), x.Connections.Load())
	}
}
