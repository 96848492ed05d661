package ranks

import (
	"fmt"

	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
)

// Flags are the flags of a command that runs a program on several ranks.
type Flags struct {
	Ranks int
	Dist  string
}

// Register adds the flags to those of a command.
func (f *Flags) Register(fs *pflag.FlagSet) {
	fs.IntVar(&f.Ranks, "ranks", 1, "run as so many ranks, each a process on this machine")
	fs.StringVar(&f.Dist, "dist", "", "mpi: this process is a rank, started by a launcher such as mpirun or srun")
}

// Asked reports whether there may be other ranks.
func (f *Flags) Asked() bool { return f.Ranks > 1 || f.Dist != "" }

// Check refuses values that the flags do not have, and what does not go together with ranks: a program from standard
// input that each would have to read, and a sandbox, which has no connections.
func (f *Flags) Check(fs *pflag.FlagSet, path string, sandboxed bool) error {
	switch {
	case f.Ranks < 1 || f.Ranks > Most:
		return driver.Usagef("--ranks %d is not from 1 to %d", f.Ranks, Most)
	case f.Dist != "" && f.Dist != "mpi":
		return &driver.UsageError{Message: fmt.Sprintf("--dist %s is nothing that connects ranks", f.Dist),
			Help: "--dist takes mpi; --ranks N starts ranks on this machine, and needs nothing"}
	case f.Dist != "" && fs.Changed("ranks"):
		return &driver.UsageError{Message: "--ranks and --dist do not go together",
			Help: "with --dist mpi the launcher says how many ranks there are: mpirun -n 4 healc run --dist mpi FILE"}
	case f.Asked() && sandboxed:
		return &driver.UsageError{Message: "--sandbox does not go together with --ranks and --dist: a sandbox has no " +
			"connections to other ranks", Help: "run the program in a sandbox as one rank"}
	case f.Dist != "" && path == "-":
		return &driver.UsageError{Message: "with --dist mpi every rank reads the program, and standard input is one",
			Help: "name a file that is there on all machines"}
	}
	return nil
}
