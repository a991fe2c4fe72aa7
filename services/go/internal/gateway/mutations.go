package gateway

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/proto/stubs/userv1"
	"hopwise/services/internal/graph"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/stubs/schema"
)

type mutations struct{}

func (mutations) CreateProduct(ctx context.Context, input schema.CreateProductInput) (*schema.ProductPayload, error) {
	if err := graph.Of(ctx).Admit(productv1.ProductService_CreateProduct_FullMethodName); err != nil {
		return nil, err
	}
	return productPayload(graph.Of(ctx).Services.Product.CreateProduct(ctx, &productv1.CreateProductRequest{
		Product: &productv1.Product{
			Title: input.Title, Description: input.Description, Category: input.Category,
			Price: moneyOf(input.Price), Stock: input.Stock,
		},
	}))
}

func (mutations) UpdateProduct(ctx context.Context, input schema.UpdateProductInput) (*schema.ProductPayload, error) {
	number, err := admit(ctx, productv1.ProductService_UpdateProduct_FullMethodName, input.ID, "Product")
	if err != nil {
		return nil, err
	}
	changed := &productv1.Product{
		Id: number, Title: value(input.Title), Description: value(input.Description), Category: value(input.Category),
	}
	mask := new(fieldmaskpb.FieldMask)
	for _, field := range []struct {
		name    string
		isGiven bool
	}{
		{"title", input.Title != nil}, {"description", input.Description != nil}, {"category", input.Category != nil},
		{"price", input.Price != nil}, {"stock", input.Stock != nil},
	} {
		if field.isGiven {
			mask.Paths = append(mask.Paths, field.name)
		}
	}
	if len(mask.Paths) == 0 {
		return nil, shoperr.Invalid("input",
			"nothing to change; give at least one of title, description, category, price, stock")
	}
	if input.Price != nil {
		changed.Price = moneyOf(input.Price)
	}
	if input.Stock != nil {
		changed.Stock = *input.Stock
	}
	return productPayload(graph.Of(ctx).Services.Product.UpdateProduct(
		ctx, &productv1.UpdateProductRequest{
			Product: changed, UpdateMask: mask, Expected: expectedProduct(input.Expected, number),
		}))
}

func (mutations) DeleteProduct(
	ctx context.Context, input schema.DeleteProductInput,
) (*schema.DeleteProductPayload, error) {
	number, err := admit(ctx, productv1.ProductService_DeleteProduct_FullMethodName, input.ID, "Product")
	if err == nil {
		_, err = graph.Of(ctx).Services.Product.DeleteProduct(ctx, &productv1.DeleteProductRequest{
			Id: number, Expected: expectedProduct(input.Expected, number),
		})
	}
	return &schema.DeleteProductPayload{DeletedID: input.ID}, err
}

func (mutations) Login(ctx context.Context, input schema.LoginInput) (*schema.LoginPayload, error) {
	made, err := graph.Of(ctx).Services.User.Login(
		ctx, &userv1.LoginRequest{Email: input.Email, Password: input.Password})
	return &schema.LoginPayload{Token: made.GetToken(), User: &graph.User{User: made.GetUser(), Own: true}}, err
}

func (mutations) CreateUser(ctx context.Context, input schema.CreateUserInput) (*schema.UserPayload, error) {
	user := &userv1.User{Email: input.Email, Name: input.Name, Address: addressOf(input.Address)}
	made, err := graph.Of(ctx).Services.User.CreateUser(
		ctx, &userv1.CreateUserRequest{User: user, Password: input.Password})
	return &schema.UserPayload{User: &graph.User{User: made, Own: true}}, err
}

func (mutations) UpdateProfile(ctx context.Context, input schema.UpdateProfileInput) (*schema.UserPayload, error) {
	number, err := graph.Of(ctx).CustomerID()
	if err != nil {
		return nil, err
	}
	changed, mask := &userv1.User{Id: number, Name: value(input.Name)}, new(fieldmaskpb.FieldMask)
	if input.Name != nil {
		mask.Paths = append(mask.Paths, "name")
	}
	if input.Address != nil {
		changed.Address, mask.Paths = addressOf(input.Address), append(mask.Paths, "address")
	}
	if len(mask.Paths) == 0 {
		return nil, shoperr.Invalid("input", "nothing to change; give at least one of name, address")
	}
	made, err := graph.Of(ctx).Services.User.UpdateUser(ctx, &userv1.UpdateUserRequest{
		User: changed, UpdateMask: mask, Expected: expectedUser(input.Expected, number),
	})
	return &schema.UserPayload{User: graph.NewUser(made)}, err
}

func (mutations) DeleteUser(ctx context.Context, input schema.DeleteUserInput) (*schema.DeleteUserPayload, error) {
	number, err := graph.Number(input.ID, "User", "input.id")
	if err == nil {
		err = graph.Of(ctx).AdmitFor(userv1.UserService_DeleteUser_FullMethodName, number, "")
	}
	if err == nil {
		_, err = graph.Of(ctx).Services.User.DeleteUser(ctx, &userv1.DeleteUserRequest{
			Id: number, Expected: expectedUser(input.Expected, number),
		})
	}
	return &schema.DeleteUserPayload{DeletedID: input.ID}, err
}

func (mutations) Checkout(ctx context.Context, input schema.CheckoutInput) (*schema.OrderPayload, error) {
	user, err := buyer(ctx, input.UserID)
	if err != nil {
		return nil, err
	}
	asked := &orderv1.CheckoutRequest{
		UserId: user, PaymentToken: input.PaymentToken, IdempotencyKey: input.IdempotencyKey,
	}
	for place, line := range input.Lines {
		number, err := graph.Number(line.ProductID, "Product", fmt.Sprintf("input.lines[%d].productId", place))
		if err != nil {
			return nil, err
		}
		asked.Lines = append(asked.Lines, &orderv1.CheckoutLine{ProductId: number, Quantity: line.Quantity})
	}
	order, err := graph.Of(ctx).Services.Order.Checkout(ctx, asked)
	return orderPayload(ctx, order, err)
}

func (mutations) UpdateOrderStatus(
	ctx context.Context, input schema.UpdateOrderStatusInput,
) (*schema.OrderPayload, error) {
	number, err := admit(ctx, orderv1.OrderService_UpdateOrderStatus_FullMethodName, input.ID, "Order")
	if err != nil {
		return nil, err
	}
	order, err := graph.Of(ctx).Services.Order.UpdateOrderStatus(ctx, &orderv1.UpdateOrderStatusRequest{
		Id: number, Status: graph.StatusNumber(input.Status),
	})
	return orderPayload(ctx, order, err)
}

func (mutations) CancelOrder(ctx context.Context, input schema.CancelOrderInput) (*schema.OrderPayload, error) {
	number, err := graph.Number(input.ID, "Order", "input.id")
	if err != nil {
		return nil, err
	}
	r := graph.Of(ctx)
	if caller, err := r.Caller(); err != nil || !caller.IsPartner() {
		if _, err := r.OwnOrder(ctx, number); err != nil {
			return nil, err
		}
	}
	order, err := r.Services.Order.CancelOrder(ctx, &orderv1.CancelOrderRequest{Id: number})
	return orderPayload(ctx, order, err)
}

// buyer returns the token's owner, or the user that a partner names.
func buyer(ctx context.Context, id *string) (int64, error) {
	named := int64(0)
	if id != nil {
		number, err := graph.Number(*id, "User", "input.userId")
		if err != nil {
			return 0, err
		}
		named = number
	}
	caller, err := graph.Of(ctx).Caller()
	switch {
	case err != nil:
		return 0, err
	case caller.IsPartner() && id == nil:
		return 0, shoperr.Invalid("input.userId", "a partner must give the buyer's id")
	case caller.IsPartner():
		return named, nil
	case id != nil:
		if err := graph.Of(ctx).AdmitFor(orderv1.OrderService_Checkout_FullMethodName, named, "input.userId"); err != nil {
			return 0, err
		}
	}
	return caller.CustomerID()
}

// admit returns the service's id of the resource that a call changes, if the caller may make the call.
func admit(ctx context.Context, call, id, kind string) (int64, error) {
	if err := graph.Of(ctx).Admit(call); err != nil {
		return 0, err
	}
	return graph.Number(id, kind, "input.id")
}

func productPayload(made *productv1.Product, err error) (*schema.ProductPayload, error) {
	return &schema.ProductPayload{Product: graph.NewProduct(made)}, err
}

func orderPayload(ctx context.Context, order *orderv1.Order, err error) (*schema.OrderPayload, error) {
	if err != nil {
		return nil, err
	}
	shown := graph.Of(ctx).NewOrder(order)
	graph.ExpectOrders(ctx, []*graph.Order{shown}, "order")
	return &schema.OrderPayload{Order: shown}, nil
}

// expectedProduct returns the product as the caller read it; nil if the caller does not send it.
func expectedProduct(input *schema.ExpectedProductInput, number int64) *productv1.Product {
	if input == nil {
		return nil
	}
	return &productv1.Product{
		Id: number, Title: input.Title, Description: input.Description, Category: input.Category,
		Price: moneyOf(input.Price), Stock: input.Stock,
	}
}

// expectedUser returns the user as the caller read it; nil if the caller does not send it.
func expectedUser(input *schema.ExpectedUserInput, number int64) *userv1.User {
	if input == nil {
		return nil
	}
	return &userv1.User{Id: number, Email: input.Email, Name: input.Name, Address: addressOf(input.Address)}
}

func moneyOf(input *schema.MoneyInput) *typev1.Money {
	return &typev1.Money{AmountMinor: input.AmountMinor, Currency: input.Currency}
}

func addressOf(input *schema.AddressInput) *typev1.Address {
	return &typev1.Address{
		Recipient: input.Recipient, Street: input.Street, City: input.City,
		PostalCode: input.PostalCode, CountryCode: input.CountryCode,
	}
}
