"""`temp_buffer` is innocent and `remember_session` guilty."""

sessions = []


def temp_buffer(number):
    return len(bytearray(3000 + number % 7 * 100))


def remember_session(number):
    sessions.append(bytearray(1000 + number % 10))  # guilty


for number in range(2000):
    temp_buffer(number)
    remember_session(number)
