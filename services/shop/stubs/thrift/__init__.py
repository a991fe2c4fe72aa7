__all__ = ['ttypes', 'constants', 'ProductService', 'UserService', 'OrderService', 'PaymentService']
