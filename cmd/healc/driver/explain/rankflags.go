package explain

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/codegen/llvm"
	"healc/internal/scaling"
)

// mostRanks is how many ranks are predicted at most: every pair of them is looked at.
const mostRanks = 10_000

// RankFlags are the flags of `healc explain --ranks`.
type RankFlags struct {
	flags   *pflag.FlagSet
	ranks   []string
	network string
	memory  string
	threads int
	rounds  int64

	parsed Ranks
}

// Register says what flags there are.
func (r *RankFlags) Register(fs *pflag.FlagSet) {
	r.flags = fs
	fs.StringSliceVar(&r.ranks, "ranks", nil,
		"explain what `N` ranks compute and send, and how long it takes; several, with commas, are compared")
	fs.StringVar(&r.network, "network", "25GB/s,2us",
		"the `BANDWIDTH,LATENCY` of the network of --ranks: of a rank each way, and of a message")
	fs.StringVar(&r.memory, "memory", "",
		"the `BANDWIDTH` of the memory of a rank of --ranks (default: 6GB/s for each of its threads)")
	fs.IntVar(&r.threads, "threads", 1, "the threads of a rank of --ranks")
	fs.Int64Var(&r.rounds, "rounds", 1, "for --ranks, how often loops run of which the program does not say it")
}

// Asked reports whether the command line has --ranks.
func (r *RankFlags) Asked() bool { return r.flags.Changed("ranks") }

// Check reads the flags, and says what does not go together.
func (r *RankFlags) Check(target, grad string, schedule bool) error {
	if !r.Asked() {
		for _, name := range []string{"network", "memory", "threads", "rounds"} {
			if r.flags.Changed(name) {
				return &driver.UsageError{Help: "add --ranks, as in --ranks 16",
					Message: "--" + name + " says for which machines --ranks is, and there is none"}
			}
		}
		return nil
	}
	switch {
	case target == heal.GPU:
		return &driver.UsageError{Message: "--ranks is about processors: devices exchange nothing yet",
			Help: "leave --target gpu out"}
	case grad != "":
		return &driver.UsageError{Message: "--ranks explains a function as it is, and --grad its gradient",
			Help: "name a function with --entry that computes the gradient by `grad`"}
	case schedule:
		return &driver.UsageError{Message: "--ranks says what ranks send, and --schedule how a kernel is written",
			Help: "ask for one at a time"}
	case r.threads < 1:
		return driver.Usagef("--threads %d: a rank has one thread or more", r.threads)
	case r.rounds < 0 || r.rounds > math.MaxInt32:
		return driver.Usagef("--rounds %d: a loop runs 0 to %d times", r.rounds, math.MaxInt32)
	}
	r.parsed = Ranks{Memory: ThreadMemory * float64(r.threads), Threads: r.threads, Rounds: r.rounds}
	for _, text := range r.ranks {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > mostRanks {
			return &driver.UsageError{Message: fmt.Sprintf("--ranks %s: `%s` is no number of ranks from 1 to %d",
				strings.Join(r.ranks, ","), text, mostRanks), Help: "as in --ranks 16, or --ranks 1,4,16,64"}
		}
		if !slices.Contains(r.parsed.Sizes, n) {
			r.parsed.Sizes = append(r.parsed.Sizes, n)
		}
	}
	if len(r.parsed.Sizes) == 0 {
		return &driver.UsageError{Message: "--ranks has no number", Help: "as in --ranks 16, or --ranks 1,4,16,64"}
	}
	var err error
	if r.parsed.Network, err = scaling.ParseNetwork(r.network); err != nil {
		return &driver.UsageError{Message: "--network " + r.network + ": " + err.Error(),
			Help: "as in --network 25GB/s,2us"}
	}
	if r.memory != "" {
		if r.parsed.Memory, err = scaling.ParseBandwidth(r.memory); err != nil {
			return &driver.UsageError{Message: "--memory " + r.memory + ": " + err.Error(),
				Help: "as in --memory 200GB/s"}
		}
	}
	return nil
}

// Explain writes what the flags ask for.
func (r *RankFlags) Explain(e *driver.Emit, w io.Writer) error {
	if e.Opts.Target.CPU != "" {
		if err := llvm.CheckProcessor(e.Opts.Target); err != nil {
			return err
		}
	}
	return r.parsed.Program(e, w)
}
