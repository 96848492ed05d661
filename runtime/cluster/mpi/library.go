package mpi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ebitengine/purego"

	"healc/runtime/dynlib"
)

// Libraries are the names under which MPI is looked for: that of the standard's binary interface, which any library of
// MPI 5 has, then that which MPICH shares with Intel's, Cray's and MVAPICH, then Open MPI's.
var Libraries = []string{"libmpi_abi.so.0", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"}

// library is an MPI library: its functions, and what the constants that we need are in its binary interface. MPI
// prescribed none before version 5.
type library struct {
	path, version string

	world, bytes, errorsReturn, inPlace uintptr
	serialized                          int32 // MPI_THREAD_SERIALIZED

	initialized, initThread, finalize, abort uintptr
	commRank, commSize, commSetErrhandler    uintptr
	commDup                                  uintptr
	allgather, allgatherv                    uintptr
	send, recv, sendrecv, isend, irecv, wait uintptr
	cancel                                   uintptr
	getCount, barrier                        uintptr
	errorString, getLibraryVersion           uintptr

	// what calls write
	text [8192]byte
	long int32
}

func (l *library) String() string { return fmt.Sprintf("%s (%s)", l.path, l.version) }

// findLibrary opens the library at path, or the first of Libraries.
func findLibrary(path string) (*library, error) {
	names := Libraries
	if path != "" {
		names = []string{path}
	}
	var tried []error
	for _, name := range names {
		// Open MPI's parts look for each other's symbols among those of the process.
		dl, err := dynlib.Open(name, dynlib.Now|dynlib.Global)
		if err != nil {
			tried = append(tried, err)
			continue
		}
		l := &library{path: name}
		if err := l.bind(dl); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return l, nil
	}
	return nil, fmt.Errorf("there is no MPI library, such as Debian's libmpich12 or libopenmpi3; %s names one: %w",
		LibEnv, errors.Join(tried...))
}

func (l *library) bind(dl uintptr) error {
	for name, f := range map[string]*uintptr{
		"Initialized": &l.initialized, "Init_thread": &l.initThread, "Finalize": &l.finalize, "Abort": &l.abort,
		"Comm_rank": &l.commRank, "Comm_size": &l.commSize, "Comm_set_errhandler": &l.commSetErrhandler,
		"Comm_dup": &l.commDup, "Allgather": &l.allgather, "Allgatherv": &l.allgatherv,
		"Send": &l.send, "Recv": &l.recv, "Sendrecv": &l.sendrecv, "Get_count": &l.getCount, "Barrier": &l.barrier,
		"Isend": &l.isend, "Irecv": &l.irecv, "Wait": &l.wait, "Cancel": &l.cancel,
		"Error_string": &l.errorString, "Get_library_version": &l.getLibraryVersion,
	} {
		sym, err := dynlib.Symbol(dl, "MPI_"+name)
		if err != nil {
			return fmt.Errorf("it has no function MPI_%s, so it is no library of MPI 3 or later", name)
		}
		*f = sym
	}
	if int32(l.call(l.getLibraryVersion, ptr(&l.text[0]), ptr(&l.long))) == 0 {
		first, _, _ := strings.Cut(string(l.text[:l.long]), "\n")
		l.version = strings.Trim(strings.Join(strings.Fields(first), " "), "\x00,")
	}
	return l.constants(dl)
}

// constants are those of the library's binary interface, by what only it has.
func (l *library) constants(dl uintptr) error {
	l.serialized = 2
	if _, err := dynlib.Symbol(dl, "MPI_Abi_get_version"); err == nil && strings.Contains(l.path, "libmpi_abi") {
		l.world, l.bytes, l.errorsReturn, l.inPlace, l.serialized = 0x101, 0x247, 0x142, 1, 2048
		return nil
	}
	if world, err := dynlib.Symbol(dl, "ompi_mpi_comm_world"); err == nil {
		l.world, l.inPlace = world, 1
		var errs [2]error
		l.bytes, errs[0] = dynlib.Symbol(dl, "ompi_mpi_byte")
		l.errorsReturn, errs[1] = dynlib.Symbol(dl, "ompi_mpi_errors_return")
		return errors.Join(errs[:]...)
	}
	// Every library of the MPICH ABI initiative has the handles of MPICH.
	for _, kin := range []string{"MPICH", "Intel(R) MPI", "CRAY MPICH", "MVAPICH"} {
		if strings.Contains(l.version, kin) {
			l.world, l.bytes, l.errorsReturn, l.inPlace = 0x44000000, 0x4c00010d, 0x54000001, ^uintptr(0)
			return nil
		}
	}
	return fmt.Errorf("`%s` is neither of MPI's standard binary interface nor of MPICH's nor Open MPI's", l.version)
}

// check is the error of a call.
func (l *library) check(code uintptr) error {
	if int32(code) == 0 {
		return nil
	}
	if int32(l.call(l.errorString, uintptr(uint32(int32(code))), ptr(&l.text[0]), ptr(&l.long))) != 0 {
		return fmt.Errorf("MPI error %d", int32(code))
	}
	return errors.New(strings.Trim(string(l.text[:l.long]), "\x00 \n"))
}

// setenvC sets a variable for the C code of this process, which os.Setenv reaches only with cgo.
func setenvC(name, value string) error {
	libc, err := dynlib.Open("libc.so.6", dynlib.Now|dynlib.Global)
	if err != nil {
		return err
	}
	var setenv func(name, value string, overwrite int32) int32
	purego.RegisterLibFunc(&setenv, libc, "setenv")
	if setenv(name, value, 1) != 0 {
		return fmt.Errorf("cannot set %s", name)
	}
	return nil
}
