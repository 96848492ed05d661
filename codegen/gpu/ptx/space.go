package ptx

// Space is a state space.
type Space uint8

// The state spaces have the names of PTX.
const (
	Generic Space = iota // none: a generic address says where it is
	Global
	Shared
	Local
	Const
	Param
	Register
)

// spaces has the state spaces by their names; generic addresses have none.
var spaces = map[string]Space{"global": Global, "shared": Shared, "local": Local, "const": Const, "param": Param,
	"reg": Register}

// SpaceNamed is the state space with a name, which has no dot: "shared".
func SpaceNamed(name string) (s Space, ok bool) {
	s, ok = spaces[name]
	return s, ok
}

func (s Space) String() string {
	for name, t := range spaces {
		if t == s {
			return name
		}
	}
	return "generic"
}
