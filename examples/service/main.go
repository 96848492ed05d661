// Command service answers requests over HTTP with programs in Heal:
//
//	go run . &
//	curl localhost:8080/                                     # the functions and their types
//	curl localhost:8080/softmax/softmax -d '[{"shape": [1, 3], "data": [1, 2, 3]}]'
//	curl -T new.heal localhost:8080/softmax                  # in its place from now on; calls that run go on
//	curl localhost:8080/softmax/softmax?limit=50ms -d …      # 408 where it takes longer
//
// Programs that are sent run in a sandbox: they see no files and no network, and take a second and a GiB at most.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	at := flag.String("listen", "localhost:8080", "where to listen; port 0 is any")
	limit := flag.Duration("limit", time.Second, "how long a call may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *at, *limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and then waits for the calls that run.
func run(ctx context.Context, at string, limit time.Duration) error {
	s, err := newService(limit)
	if err != nil {
		return err
	}
	defer s.close()
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.Background(), 2*limit)
		defer cancel()
		ended <- server.Shutdown(last)
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
