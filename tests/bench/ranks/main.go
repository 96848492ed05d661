// Command ranks measures what it costs ranks to exchange data by healc's communicators (runtime/cluster), beside C that
// does the same (tests/bench/peers/comm.c), from 8 bytes to 64 MiB. It needs a C compiler, and for MPI the library with
// its launcher and its mpicc.
//
// C and healc take turns in the same processes, with the same memory, so that a change of the machine's load meets
// both. What is shown are medians and the least of all turns, as the slowest rank saw them, and the median ratio of
// turns that follow each other. No time is asserted.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"healc/cmd/healc/ranks"
)

// options are those of each rank.
type options struct {
	connect string // how ranks are connected
	library string // comm.c
	rounds  int
	largest int
}

func main() {
	var o options
	flag.StringVar(&o.connect, "connect", "mpich,openmpi,tcp", "by what ranks are connected")
	flag.IntVar(&o.rounds, "rounds", 11, "how many turns each has")
	flag.IntVar(&o.largest, "largest", 64<<20, "how many bytes the largest message has")
	flag.StringVar(&o.library, "rank", "", "this process is a rank that loads this library, for internal use")
	numbers := flag.String("n", "2,4", "numbers of ranks")
	source := flag.String("source", "tests/bench/peers/comm.c", "the program in C")
	flag.Parse()
	if o.library != "" {
		os.Exit(o.rank())
	}
	if err := o.all(*source, strings.Split(*numbers, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "ranks:", err)
		os.Exit(1)
	}
}

// all measures each number of ranks with each connection.
func (o options) all(source string, numbers []string) error {
	folder, err := os.MkdirTemp("", "ranks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, connect := range strings.Split(o.connect, ",") {
		compiler, flags := "mpicc."+connect, []string{}
		if connect == "tcp" {
			compiler, flags = "cc", []string{"-DNO_MPI"}
		}
		library := filepath.Join(folder, connect+".so")
		build := exec.Command(compiler, append(flags, "-O2", "-shared", "-fPIC", "-o", library, source)...)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", build, err, out)
		}
		for _, n := range numbers {
			fmt.Printf("\n%s, %s ranks; us\n\n", connect, n)
			if err := o.start(connect, n, library); err != nil {
				return fmt.Errorf("%s ranks, %s: %w", n, connect, err)
			}
		}
	}
	return nil
}

// start starts so many ranks, and waits for them.
func (o options) start(connect, n, library string) error {
	args := []string{"-connect", connect, "-rank", library, "-rounds", fmt.Sprint(o.rounds), "-largest",
		fmt.Sprint(o.largest)}
	if connect == "tcp" {
		var number int
		if _, err := fmt.Sscan(n, &number); err != nil {
			return err
		}
		code, err := ranks.Start(ranks.Command{Ranks: number, Args: args}, func(report, message string) {
			fmt.Fprint(os.Stderr, report, message)
		})
		if err == nil && code != 0 {
			err = errors.New("they have failed")
		}
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	launch := []string{"-n", n}
	env := "HEAL_LIBMPI=libmpich.so.12"
	if connect == "openmpi" {
		launch = append(launch, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
		env = "HEAL_LIBMPI=libmpi.so.40"
	}
	c := exec.Command("mpirun."+connect, append(append(launch, self), args...)...)
	c.Env = append(os.Environ(), env)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}
