"""How much does the wording move the answer?"""

from analysis import findings
from pages.shared import display, rows, session

page = session.open_page("Explore")
analysis = page.analysis()
answers = page.known_answers(analysis)

display.finding(findings.explore(analysis, answers))
display.notes(analysis.notes)
rows.table(analysis, answers)

if answers is None:
    page.complete(analysis)
