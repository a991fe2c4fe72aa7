package gateway

import (
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// The cost of an operation is what its answer can grow to: graphql_gateway/cost.py, the gateway in Python, tells its rules.
const (
	mostCost           = 4_000
	mostCostOfPartners = 16_000
	costOfCall         = 50
	itemsOfList        = 5
)

// dear has what fields cost where it is more than 1, or other than what a call costs.
var dear = map[string]float64{
	"Query.document":       2_500,
	"User.orders":          costOfCall,
	"User.address":         16,
	"User.email":           16,
	"OrderLine.lineNumber": 4,
}

// costs measures one operation with its variables; a float does not overflow.
type costs struct {
	schema    *ast.Schema
	variables map[string]any
	fragments map[string]float64
}

func costOf(schema *ast.Schema, operation *ast.OperationDefinition, variables map[string]any) float64 {
	c := costs{schema, variables, make(map[string]float64)}
	return c.of(operation.SelectionSet)
}

func (c costs) of(set ast.SelectionSet) float64 {
	total := 0.0
	for _, one := range set {
		switch one := one.(type) {
		case *ast.Field:
			total += c.field(one)
		case *ast.InlineFragment:
			total += c.of(one.SelectionSet)
		case *ast.FragmentSpread:
			cost, isKnown := c.fragments[one.Name]
			if !isKnown {
				cost = c.of(one.Definition.SelectionSet)
				c.fragments[one.Name] = cost
			}
			total += cost
		}
	}
	return total
}

func (c costs) field(field *ast.Field) float64 {
	parent := field.ObjectDefinition
	own, isDear := dear[parent.Name+"."+field.Name]
	if !isDear {
		own = 1
		if (parent == c.schema.Query || parent == c.schema.Mutation) && !strings.HasPrefix(field.Name, "__") {
			own = costOfCall
		}
	}
	if len(field.SelectionSet) == 0 {
		return own
	}
	return own + c.items(field, parent)*c.of(field.SelectionSet)
}

func (c costs) items(field *ast.Field, parent *ast.Definition) float64 {
	if first := field.Definition.Arguments.ForName("first"); first != nil {
		return max(c.first(field, first), 1)
	}
	if strings.HasPrefix(parent.Name, "__") {
		switch parent.Name + "." + field.Name {
		case "__Schema.types":
			return float64(len(c.schema.Types))
		case "__Type.fields": // on average; a type has less than one of everything else that introspection lists
			return 2
		case "__Type.ofType":
			return 0
		}
		return 1
	}
	// The edges of a connection were multiplied by its `first` already.
	if field.Definition.Type.Elem == nil || strings.HasSuffix(parent.Name, "Connection") {
		return 1
	}
	return itemsOfList
}

// first returns the value of the argument; 0 for null, which execution refuses.
func (c costs) first(field *ast.Field, definition *ast.ArgumentDefinition) float64 {
	value := definition.DefaultValue
	if given := field.Arguments.ForName("first"); given != nil && given.Value.Kind != ast.Variable {
		value = given.Value
	} else if given != nil {
		if coerced, isGiven := c.variables[given.Value.Raw]; isGiven {
			number, _ := coerced.(int64)
			return float64(number)
		}
	}
	number, err := strconv.ParseFloat(value.Raw, 64)
	if err != nil {
		return 0
	}
	return number
}
