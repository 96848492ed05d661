package cli

import (
	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/manual"
)

func (a *app) docCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doc [NAME]",
		Short: "Show the manual: the language, its functions, the library",
		Long: "Shows what there is to say of NAME: a section of the reference (types, variables), a keyword or " +
			"operator, a function,\n" +
			"a module of the library (nn) or a name in one (nn.softmax), an operation of the tensor IR, or an error " +
			"code. Without\n" +
			"NAME it lists what there is.",
		Example: "  healc doc match\n  healc doc nn.softmax",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return manual.Print(a.out, "")
			}
			if err := exactly("NAME")(a.root(), args); err != nil {
				return &driver.UsageError{Message: "`healc doc` takes one name",
					Help: "a section of two words stands in quotes: healc doc 'type parameters'"}
			}
			return manual.Print(a.out, args[0])
		},
	}
}
