package types

// Unknown splits d into coef * name + rest when name is the only shape parameter in it that is not known, and d is
// linear in it: so name is (the extent - rest) / coef. Otherwise ok is false.
func Unknown(d Dim, known func(name string) bool) (name string, coef, rest Dim, ok bool) {
	none := func() (string, Dim, Dim, bool) { return "", Dim{}, Dim{}, false }
	for _, t := range d.terms {
		product, free := Lit(t.coef), 0
		for _, v := range t.vars {
			if known(v) {
				var err error
				if product, err = product.Mul(Param(v)); err != nil {
					return none()
				}
				continue
			}
			if name != "" && name != v {
				return none()
			}
			name = v
			free++
		}
		var err error
		switch free {
		case 0:
			rest, err = rest.Add(product)
		case 1:
			coef, err = coef.Add(product)
		default:
			return none()
		}
		if err != nil {
			return none()
		}
	}
	return name, coef, rest, name != "" && !coef.IsConst(0)
}
