package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// coerced returns the values of an operation's variables as resolvers take them: whole numbers as int64.
func coerced(schema *ast.Schema, operation *ast.OperationDefinition, given map[string]any) (map[string]any, gqlerror.List) {
	values, errs := make(map[string]any, len(given)), gqlerror.List(nil)
	for _, variable := range operation.VariableDefinitions {
		value, isGiven := given[variable.Variable]
		if !isGiven && variable.DefaultValue != nil {
			value, _ = variable.DefaultValue.Value(nil)
		} else if !isGiven && !variable.Type.NonNull {
			continue
		}
		made, err := coerce(schema, variable.Type, value)
		if err != nil {
			err := gqlerror.Errorf("Variable '$%s' has invalid value: %s", variable.Variable, err)
			err.Locations = []gqlerror.Location{{Line: variable.Position.Line, Column: variable.Position.Column}}
			errs = append(errs, err)
		}
		values[variable.Variable] = made
	}
	return values, errs
}

// coerce returns a value of a type; the error says where in the value it is not.
func coerce(schema *ast.Schema, of *ast.Type, value any) (any, error) {
	if value == nil {
		if of.NonNull {
			return nil, fmt.Errorf("Expected a value of non-null type '%s' to be provided.", of) //nolint:staticcheck // a sentence
		}
		return nil, nil
	}
	if of.Elem != nil {
		items, isList := value.([]any)
		if !isList {
			items = []any{value}
		}
		made := make([]any, len(items))
		for place, item := range items {
			var err error
			if made[place], err = coerce(schema, of.Elem, item); err != nil {
				return nil, fmt.Errorf("at [%d]: %w", place, err)
			}
		}
		return made, nil
	}
	switch definition := schema.Types[of.NamedType]; definition.Kind {
	case ast.InputObject:
		return coerceObject(schema, definition, value)
	case ast.Enum:
		if name, isText := value.(string); isText && definition.EnumValues.ForName(name) != nil {
			return value, nil
		}
	default:
		if made, fits := coerceScalar(of.NamedType, value); fits {
			return made, nil
		}
	}
	shown, _ := json.Marshal(value)
	return nil, fmt.Errorf("%s cannot represent value: %s", of.NamedType, shown)
}

func coerceObject(schema *ast.Schema, definition *ast.Definition, value any) (any, error) {
	given, isObject := value.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("Expected value of type '%s' to be an object.", definition.Name) //nolint:staticcheck // a sentence
	}
	for name := range given {
		if definition.Fields.ForName(name) == nil {
			return nil, fmt.Errorf("Field '%s' is not defined by type '%s'.", name, definition.Name) //nolint:staticcheck // a sentence
		}
	}
	made := make(map[string]any, len(definition.Fields))
	for _, field := range definition.Fields {
		inner, isGiven := given[field.Name]
		if !isGiven && field.DefaultValue != nil {
			inner, _ = field.DefaultValue.Value(nil)
		} else if !isGiven && !field.Type.NonNull {
			continue
		}
		var err error
		if made[field.Name], err = coerce(schema, field.Type, inner); err != nil {
			return nil, fmt.Errorf("at '%s': %w", field.Name, err)
		}
	}
	return made, nil
}

func coerceScalar(name string, value any) (any, bool) {
	text, isText := value.(string)
	_, isBool := value.(bool)
	number, isWhole := whole(value)
	switch name {
	case "String":
		return text, isText
	case "Boolean":
		return value, isBool
	case "ID":
		if !isText && isWhole {
			return strconv.FormatInt(number, 10), true
		}
		return text, isText
	case "Int":
		return number, isWhole && math.MinInt32 <= number && number <= math.MaxInt32
	case "Long":
		given, isNumber := value.(json.Number)
		return number, isWhole && !(isNumber && strings.ContainsAny(given.String(), ".eE"))
	}
	return nil, false // no input has another one
}

// whole returns the integer that a number is, also one that is written as 7.0.
func whole(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case json.Number:
		if number, err := value.Int64(); err == nil {
			return number, true
		}
		number, err := value.Float64()
		return int64(number), err == nil && number == math.Trunc(number) && math.Abs(number) < 1<<53
	}
	return 0, false
}
