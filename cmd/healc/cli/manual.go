package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver/manual"
)

func (a *app) docCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doc [NAME | WORDS...]",
		Short: "Show the manual, or search it: the language, its functions, the library, what other systems call them",
		Long: "Shows what there is to say of NAME: a section of the reference (types, variables), a keyword or " +
			"operator, a function,\n" +
			"a module of the library (nn) or a name in one (nn.softmax), an operation of the tensor IR, or an error " +
			"code.\n" +
			"Where nothing has that name, it searches all of that, the documents, and what NumPy, JAX, Futhark " +
			"and MATLAB\ncall things.\n" +
			"Without NAME it lists what there is.",
		Example: "  healc doc match\n  healc doc nn.softmax\n  healc doc einsum\n  healc doc sort in descending order",
		RunE: func(_ *cobra.Command, args []string) error {
			return manual.Print(a.out, strings.Join(args, " "))
		},
	}
}
