"""Which words of the prompt move the answer?"""

from pages.shared import session

page = session.open_page("Attribution")
analysis = page.analysis()
