package mpi

import (
	"fmt"
	"os"
	"strconv"
)

// LauncherError says that a launcher has started processes that do not find each other: it is that of another MPI
// library, and each process is a run of one rank.
type LauncherError struct {
	Variable      string // which says how many it has started
	Started, Size int
	Library       string
	Rank          int // what the launcher calls this process; 0 where it does not say
}

func (e *LauncherError) Error() string {
	return fmt.Sprintf("the launcher has started %d processes (%s), and %s sees %d: they are not of the same MPI",
		e.Started, e.Variable, e.Library, e.Size)
}

// launchers are the variables by which launchers say how many processes they start, and which one this is: Open MPI's,
// and those of MPICH and its kin.
var launchers = []struct{ size, rank string }{
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
	{"PMI_SIZE", "PMI_RANK"},
}

// checkLauncher compares the number of ranks with what the launcher says, if it does.
func checkLauncher(size int, library string) error {
	for _, l := range launchers {
		started, err := strconv.Atoi(os.Getenv(l.size))
		if err != nil {
			continue
		}
		if started == size {
			return nil
		}
		rank, _ := strconv.Atoi(os.Getenv(l.rank))
		return &LauncherError{Variable: l.size, Started: started, Size: size, Library: library, Rank: rank}
	}
	return nil
}
