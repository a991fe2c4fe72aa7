package gateway

import (
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// The cost of an operation is how many fields its answer can have: shop/platform/graphql/cost.py, of the shop in Python, has the
// rules and the reasons.
const (
	maxCost             = 12_000
	maxCostOfPartners   = 16_000
	maxCostOfDocument   = 53_000
	costOfCall          = 50
	fieldsOfType        = 2
	fieldsOfLargestType = 11
	maxWraps            = 3
	typesOfLargestType  = fieldsOfLargestType/fieldsOfType + 1
)

// itemsOf has the maximum number of items of each list without `first`.
var itemsOf = map[string]float64{
	"Document.sections":       260,
	"DocumentSection.records": 25,
	"Order.lines":             100,
}

// dear has the costs of the fields with a special cost.
var dear = map[string]float64{
	"User.orders":          costOfCall,
	"User.address":         16,
	"User.email":           16,
	"OrderLine.lineNumber": 4,
}

// costs measures one operation with its variables, in floats, which do not overflow.
type costs struct {
	schema    *ast.Schema
	variables map[string]any
	fragments map[spread]float64
}

// spread is a fragment, with the number of `ofType`s directly around it.
type spread struct {
	name  string
	wraps int
}

// limitOf returns the maximum cost of an operation.
func limitOf(operation *ast.OperationDefinition, isPartner bool) float64 {
	for _, one := range operation.SelectionSet {
		if field, isField := one.(*ast.Field); !isField || field.Name != "document" {
			if isPartner {
				return maxCostOfPartners
			}
			return maxCost
		}
	}
	return maxCostOfDocument
}

func costOf(schema *ast.Schema, operation *ast.OperationDefinition, variables map[string]any) float64 {
	c := costs{schema, variables, make(map[spread]float64)}
	return sum(operation.SelectionSet, 0, c.fragments, c.field)
}

// sum adds up what a function returns for each field of a selection. It reads each fragment once, and keeps its sum.
func sum[N int | float64](
	set ast.SelectionSet, wraps int, fragments map[spread]N, of func(field *ast.Field, wraps int) N,
) (total N) {
	for _, one := range set {
		switch one := one.(type) {
		case *ast.Field:
			total += of(one, wraps)
		case *ast.InlineFragment:
			total += sum(one.SelectionSet, wraps, fragments, of)
		case *ast.FragmentSpread:
			key := spread{one.Name, wraps}
			if _, isKnown := fragments[key]; !isKnown {
				fragments[key] = sum(one.Definition.SelectionSet, wraps, fragments, of)
			}
			total += fragments[key]
		}
	}
	return total
}

func (c costs) field(field *ast.Field, wraps int) float64 {
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
	inside := 0
	if field.Name == "ofType" {
		inside = min(wraps+1, maxWraps)
	}
	return own + c.items(field, parent, wraps)*sum(field.SelectionSet, inside, c.fragments, c.field)
}

func (c costs) items(field *ast.Field, parent *ast.Definition, wraps int) float64 {
	if first := field.Definition.Arguments.ForName("first"); first != nil {
		return max(c.first(field, first), 1)
	}
	switch place := parent.Name + "." + field.Name; {
	case place == "__Schema.types":
		return float64(len(c.schema.Types))
	case place == "__Type.fields":
		return fieldsOfType
	case place == "__Type.ofType" && wraps == maxWraps:
		return 0
	case place == "Query.__type" || parent.Name == "__Schema" && strings.HasSuffix(field.Name, "Type"):
		return typesOfLargestType
	case strings.HasPrefix(parent.Name, "__"):
		return 1
	// The edges of a connection are multiplied by its `first` already.
	case !returnsList(field) || strings.HasSuffix(parent.Name, "Connection"):
		return 1
	default:
		return itemsOf[place]
	}
}

// first returns the value of the argument; 0 for null, which execution refuses.
func (c costs) first(field *ast.Field, definition *ast.ArgumentDefinition) float64 {
	value := definition.DefaultValue
	if given := field.Arguments.ForName("first"); given != nil && given.Value.Kind != ast.Variable {
		value = given.Value
	} else if given != nil {
		if coerced, isGiven := c.variables[given.Value.Raw]; isGiven {
			number, _ := graphql.UnmarshalInt64(coerced) // gqlgen reads the resolver's argument in the same way
			return float64(number)
		}
	}
	number, err := strconv.ParseFloat(value.Raw, 64)
	if err != nil {
		return 0
	}
	return number
}
