// Command turns runs benchmarks of Lattigo's with the transforms of healc and with Lattigo's own, in turns, and prints
// the least time of each: in the folder that the command patched wrote with -tests.
//
//	go run ./turns -package ./core/rlwe -bench GadgetProduct FOLDER
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// line is what a benchmark prints.
var line = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

func main() {
	pkg := flag.String("package", "./core/rlwe", "the package with the benchmarks")
	bench := flag.String("bench", ".", "the benchmarks, as `go test -bench` takes them")
	benchtime := flag.String("benchtime", "50ms", "how long a benchmark runs, as `go test -benchtime` takes it")
	count := flag.Int("count", 5, "how often it runs in each turn")
	params := flag.String("params", "", "parameters of the scheme, as Lattigo's benchmarks take them")
	rounds := flag.Int("rounds", 9, "how many turns each has")
	cpu := flag.Int("cpu", 1, "how many threads Go has")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	args := []string{"-test.run", "^$", "-test.bench", *bench, "-test.benchtime", *benchtime,
		"-test.count", strconv.Itoa(*count), "-test.cpu", strconv.Itoa(*cpu)}
	if *params != "" {
		args = append(args, "-params", *params)
	}
	if err := run(filepath.Join(flag.Arg(0), *pkg), *rounds, args); err != nil {
		fmt.Fprintln(os.Stderr, "turns:", err)
		os.Exit(1)
	}
}

func run(dir string, rounds int, args []string) error {
	temp, err := os.MkdirTemp("", "turns")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	program := filepath.Join(temp, "bench")
	build := exec.Command("go", "test", "-vet=off", "-c", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v\n%s", err, out)
	}
	var names []string
	least := map[string]map[string]float64{}
	for range rounds {
		for _, whose := range []string{"lattigo", "healc"} {
			c := exec.Command(program, args...)
			c.Dir, c.Env = dir, append(os.Environ(), "TRANSFORMS="+whose)
			out, err := c.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%v\n%s", err, out)
			}
			for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
				m := line.FindStringSubmatch(s.Text())
				if m == nil {
					continue
				}
				ns, err := strconv.ParseFloat(m[2], 64)
				if err != nil {
					return err
				}
				if least[m[1]] == nil {
					names, least[m[1]] = append(names, m[1]), map[string]float64{}
				}
				if t, ok := least[m[1]][whose]; !ok || ns < t {
					least[m[1]][whose] = ns
				}
			}
		}
	}
	for _, name := range names {
		l, h := least[name]["lattigo"], least[name]["healc"]
		fmt.Printf("%-100s %12v %12v %6.2f\n", name, time.Duration(l), time.Duration(h), l/h)
	}
	return nil
}
