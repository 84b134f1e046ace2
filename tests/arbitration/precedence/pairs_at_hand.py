"""Twenty pairs that the rules of precedence were written with. All texts are made up."""

from __future__ import annotations

from tests.arbitration.precedence.pairs import Pair, Text

PAIRS: tuple[Pair, ...] = (
    Pair(
        key="services-payment",
        kind="amendment",
        question="Within how many days must the client pay an invoice?",
        in_force="The Client shall pay each undisputed invoice within forty-five (45) days",
        replaced="The Client shall pay each undisputed invoice within thirty (30) days",
        documents=(
            Text(
                "services agreement.md",
                """# Master Services Agreement

Made on 4 February 2020 between Harrow Analytics Ltd (the "Supplier") and Pell Foods plc (the "Client").

## 3 Services

3.1 The Supplier shall perform the Services with reasonable skill and care.

## 4 Fees and payment

4.1 The fees are set out in Schedule 1 and exclude value added tax.

4.2 The Client shall pay each undisputed invoice within thirty (30) days of its receipt.

4.3 Interest accrues on overdue amounts at two per cent a year above the base rate.

## 9 Termination

9.1 Either party may terminate this Agreement on ninety days' written notice.
""",
            ),
            Text(
                "first amendment.md",
                """# Amendment No. 1 to the Master Services Agreement

This Amendment is made on 1 June 2022 between Harrow Analytics Ltd and Pell Foods plc.

1. Section 4.2 of the Agreement is hereby deleted in its entirety and replaced with the following:

"4.2 The Client shall pay each undisputed invoice within forty-five (45) days of its receipt."

2. Except as expressly amended here, all terms of the Agreement remain in full force and effect.
""",
            ),
        ),
    ),
    Pair(
        key="lease-rent",
        kind="amendment",
        question="What is the yearly rent for the warehouse?",
        in_force="The Rent shall be £61,500 per annum",
        replaced="The Tenant shall pay a rent of £54,000 per annum",
        documents=(
            Text(
                "Lease of Unit 7.md",
                """# Lease of Unit 7, Canal Wharf

Dated 29 September 2017. Landlord: Merrow Estates LLP. Tenant: Otter Logistics Ltd.

## 1 Term

The warehouse is let for a term of ten years from the date of this lease.

## 2 Rent

The Tenant shall pay a rent of £54,000 per annum for the warehouse by equal quarterly payments in advance.

## 3 Repair

The Tenant shall keep the warehouse in good repair, fair wear and tear excepted.

## 4 Insurance

The Landlord shall insure the building and the Tenant shall refund a fair share of the premium.
""",
            ),
            Text(
                "Deed of variation.md",
                """# Deed of Variation

Dated 3 October 2022, supplemental to the lease of Unit 7, Canal Wharf, dated 29 September 2017.

## Variation of the Lease

With effect from 29 September 2022 clause 2 of the Lease is varied so that it reads:

The Rent shall be £61,500 per annum for the warehouse, payable by equal quarterly payments in advance.

## Confirmation

In all other respects the Lease continues unchanged.
""",
            ),
        ),
    ),
    Pair(
        key="nda-term",
        kind="amendment",
        question="How long do the confidentiality obligations last?",
        in_force="the confidentiality obligations shall continue for seven years from disclosure",
        replaced="The obligations of confidentiality last for three years after each disclosure",
        documents=(
            Text(
                "nda.txt",
                """NON-DISCLOSURE AGREEMENT

1. Purpose
The parties wish to evaluate a joint venture in battery recycling.

2. Use
The receiving party shall use Confidential Information for the Purpose alone.

3. Duration
The obligations of confidentiality last for three years after each disclosure.

4. Return
On request all copies shall be destroyed or returned within ten days.
""",
            ),
            Text(
                "side letter.txt",
                """Side letter of 14 May 2021

Dear Ms Quist,

We refer to the Non-Disclosure Agreement between our companies.

In place of the period in clause 3, we agree that the confidentiality obligations shall continue for seven
years from disclosure.

Nothing else in the Non-Disclosure Agreement changes.

Yours sincerely
Tarn Recycling GmbH
""",
            ),
        ),
    ),
    Pair(
        key="travel-versions",
        kind="version",
        question="What class may staff book on long flights?",
        in_force="Flights of more than eight hours may be booked in premium economy class",
        replaced="Flights of more than six hours may be booked in business class",
        documents=(
            Text(
                "travel policy 2018.md",
                """# Travel Policy

Version 2.0, effective 1 January 2018

## Rail

Staff travel second class by rail.

## Flights

Flights of more than six hours may be booked in business class by all staff.

## Hotels

The limit for a night is 160 euros in capital cities and 120 euros elsewhere.
""",
            ),
            Text(
                "travel policy 2024.md",
                """# Travel Policy

Version 3.0, effective 1 March 2024

## Rail

Staff travel second class by rail; journeys of over four hours may be first class.

## Flights

Flights of more than eight hours may be booked in premium economy class. Shorter flights are booked in economy.

## Hotels

The limit for a night is 190 euros in capital cities and 140 euros elsewhere.
""",
            ),
        ),
    ),
    Pair(
        key="retention-supersedes",
        kind="version",
        question="How long are applicants' files kept?",
        in_force="Files of applicants who are not hired are kept for six months",
        replaced="Files of applicants who were not hired shall be kept for two years",
        documents=(
            Text(
                "records-schedule.md",
                """# Records Retention Schedule

Issued by the Secretary, May 2016.

## Personnel

Personnel files shall be kept for seven years after employment ends.

Files of applicants who were not hired shall be kept for two years after the vacancy is filled.

## Finance

Ledgers and vouchers shall be kept for ten years.
""",
            ),
            Text(
                "retention-standard.md",
                """# Data Retention Standard

Approved by the Board on 12 September 2023. This Standard supersedes the Records Retention Schedule of May 2016.

## People

Personnel files are kept for six years after employment ends.

Files of applicants who are not hired are kept for six months after the decision, unless they agree to a longer time.

## Money

Accounting records are kept for ten years.
""",
            ),
        ),
    ),
    Pair(
        key="password-versions",
        kind="version",
        question="What is the minimum length of a password?",
        in_force="Passwords have at least fourteen characters",
        replaced="Passwords have at least eight characters",
        documents=(
            Text(
                "IS-07 v4.md",
                """# IS-07 Password Standard

Document no. IS-07 · Revision 4 · Issued 2023-02-20

## Length

Passwords have at least fourteen characters and may be a phrase of several words.

## Change

A password is changed when there is reason to believe that somebody else knows it.
""",
            ),
            Text(
                "IS-07 v3.md",
                """# IS-07 Password Standard

Document no. IS-07 · Revision 3 · Issued 2017-11-02

## Length

Passwords have at least eight characters, with one digit and one special character.

## Change

Passwords are changed every ninety days.
""",
            ),
        ),
    ),
    Pair(
        key="remote-exception",
        kind="exception",
        question="How many days a week may call centre staff work from home?",
        in_force="Call centre staff may work from home on one day a week only",
        replaced="Employees may work from home on up to three days a week",
        documents=(
            Text(
                "remote work policy.md",
                """# Remote Work Policy

## Entitlement

Employees may work from home on up to three days a week, as agreed with their manager.

## Equipment

The company provides a laptop and a headset. Chairs and desks are not provided.

## Security

Confidential papers are not taken home.
""",
            ),
            Text(
                "memo customer operations.md",
                """# Memo to Customer Operations

## Exception to the Remote Work Policy

By way of exception to the Remote Work Policy, and because of the rota, the following applies. Call centre
staff may work from home on one day a week only, and not on Mondays.
""",
            ),
        ),
    ),
    Pair(
        key="gifts-exception",
        kind="exception",
        question="May a procurement employee accept a gift worth 30 euros?",
        in_force="Employees of the procurement department may not accept any gift",
        replaced="Employees may accept gifts of a value of up to 50 euros",
        documents=(
            Text(
                "gifts and hospitality.md",
                """# Gifts and Hospitality

## 1 Principle

Nobody accepts a gift that is meant to influence a decision.

## 2 Limit

Employees may accept gifts of a value of up to 50 euros a year from one giver.

## 3 Register

Gifts of more than 20 euros are entered in the register within a week.

## 4 Exceptions

Section 2 does not apply to procurement. Employees of the procurement department may not accept any gift,
whatever its value.
""",
            ),
        ),
    ),
    Pair(
        key="statute-repeal",
        kind="repeal",
        question="What is the penalty for keeping a dangerous dog without a permit?",
        in_force="liable on conviction to a fine not exceeding $15,000",
        replaced="shall be liable to a fine not exceeding $2,000",
        documents=(
            Text(
                "Dogs Act 1984.md",
                """# Dogs Act 1984

## 5 Permits

No person shall keep a dangerous dog without a permit issued by the Commissioner.

## 6 Penalty

A person who keeps a dangerous dog without a permit shall be liable to a fine not exceeding $2,000.

## 7 Seizure

An officer may seize a dog that is kept in breach of this Act.
""",
            ),
            Text(
                "Control of Animals Act 2011.md",
                """# Control of Animals Act 2011

## 14 Dangerous dogs

(1) The keeper of a dangerous dog shall hold a permit.

(2) Whoever keeps a dangerous dog without such a permit is liable on conviction to a fine not exceeding
$15,000 or to imprisonment for six months.

## 40 Commencement

This Act comes into force on 1 July 2011.

## 41 Repeal

The Dogs Act 1984 is repealed.
""",
            ),
        ),
    ),
    Pair(
        key="regulation-substitute",
        kind="amendment",
        question="How often must a lift be examined?",
        in_force="every six months in the case of a lift",
        replaced="A lift shall be thoroughly examined at intervals of twelve months",
        documents=(
            Text(
                "Lifting Regulations.md",
                """# The Workplace Lifting Regulations 1999

## 8 Marking

Every lift shall be marked with its safe working load.

## 9 Thorough examination

A lift shall be thoroughly examined at intervals of twelve months by a competent person.

## 10 Reports

The competent person shall report every defect to the owner.
""",
            ),
            Text(
                "Lifting Amendment Regulations.md",
                """# The Workplace Lifting (Amendment) Regulations 2008

## 1 Citation and commencement

These Regulations may be cited as the Workplace Lifting (Amendment) Regulations 2008 and come into force on 6
April 2008.

## 2 Amendment of regulation 9

For regulation 9 of the Workplace Lifting Regulations 1999 substitute: "Lifting equipment shall be thoroughly
examined every six months in the case of a lift and every twelve months in any other case."
""",
            ),
        ),
    ),
    Pair(
        key="restated-distribution",
        kind="version",
        question="What minimum must the distributor purchase each year?",
        in_force="The Distributor shall purchase Products worth at least USD 900,000 in every contract year",
        replaced="The Distributor shall purchase at least USD 600,000 of Products each year",
        documents=(
            Text(
                "distribution agreement 2015.md",
                """# Distribution Agreement

Dated as of March 9, 2015 between Kestrel Optics Inc. and Vale Medical S.A.

## Territory

The Territory is Portugal and Spain.

## Minimum purchases

The Distributor shall purchase at least USD 600,000 of Products each year.

## Returns

Products may be returned within thirty days of delivery if they are defective.
""",
            ),
            Text(
                "A&R distribution agreement.md",
                """# Amended and Restated Distribution Agreement

Dated as of January 15, 2019 between Kestrel Optics Inc. and Vale Medical S.A.

The parties entered into a Distribution Agreement dated as of March 9, 2015, which is amended and restated in
its entirety as follows.

## Territory

The Territory is Portugal, Spain and Andorra.

## Minimum purchases

The Distributor shall purchase Products worth at least USD 900,000 in every contract year.
""",
            ),
        ),
    ),
    Pair(
        key="employment-addendum",
        kind="amendment",
        question="What notice must the employee give to resign?",
        in_force="the notice to be given by the Employee is three months",
        replaced="The Employee may resign by giving one month's notice",
        documents=(
            Text(
                "contract of employment.txt",
                """Contract of Employment

1. Duties
The Employee is engaged as a process engineer at the Leeds plant.

2. Hours
Normal working hours are 37.5 a week.

3. Notice
The Employee may resign by giving one month's notice in writing.

4. Holidays
The Employee has 25 days of paid holiday a year.
""",
            ),
            Text(
                "addendum.txt",
                """Addendum to the Contract of Employment

Effective 1 August 2023

Following the Employee's promotion to head of process engineering the parties agree:

Clause 2 is amended so that normal working hours are 40 a week.

Clause 3 is amended so that the notice to be given by the Employee is three months, in writing.
""",
            ),
        ),
    ),
    Pair(
        key="arrendamiento-adenda",
        kind="amendment",
        question="¿Cuál es la renta mensual del local?",
        in_force="la renta mensual del local será de 2.350 euros",
        replaced="La renta mensual del local es de 1.900 euros",
        documents=(
            Text(
                "contrato de arrendamiento.md",
                """# Contrato de arrendamiento de local

En Valencia, a 10 de enero de 2018.

## Primera. Objeto

El arrendador cede el uso del local situado en la calle Mayor, 12.

## Segunda. Renta

La renta mensual del local es de 1.900 euros, pagaderos en los cinco primeros días de cada mes.

## Tercera. Fianza

El arrendatario entrega una fianza de dos mensualidades.
""",
            ),
            Text(
                "adenda.md",
                """# Adenda al contrato de arrendamiento

En Valencia, a 2 de marzo de 2022.

La cláusula segunda del contrato queda sustituida por la siguiente: a partir del 1 de abril de 2022 la renta
mensual del local será de 2.350 euros.

En lo demás, el contrato permanece en vigor.
""",
            ),
        ),
    ),
    Pair(
        key="vacaciones-versiones",
        kind="version",
        question="¿Cuántos días de vacaciones tienen los empleados?",
        in_force="Los empleados disfrutan de 26 días laborables de vacaciones",
        replaced="Los empleados tienen derecho a 23 días laborables de vacaciones",
        documents=(
            Text(
                "politica-vacaciones-2019.md",
                """# Política de vacaciones

Vigente desde el 1 de enero de 2019.

## Duración

Los empleados tienen derecho a 23 días laborables de vacaciones al año.

## Solicitud

Las vacaciones se solicitan con dos meses de antelación.
""",
            ),
            Text(
                "politica-vacaciones-2023.md",
                """# Política de vacaciones

Vigente desde el 1 de enero de 2023. Sustituye a la versión de 2019.

## Duración

Los empleados disfrutan de 26 días laborables de vacaciones al año.

## Solicitud

Las vacaciones se solicitan con un mes de antelación en el portal.
""",
            ),
        ),
    ),
    Pair(
        key="order-form-prevails",
        kind="clause",
        question="What is the cap on the vendor's liability?",
        in_force="The Vendor's total liability is capped at twice the fees paid",
        replaced="The Vendor's aggregate liability shall not exceed the fees paid",
        documents=(
            Text(
                "subscription terms.md",
                """# Subscription Terms

## 2 Structure

2.1 Each order form is part of the agreement. If an order form conflicts with these Subscription Terms, the
order form prevails.

## 6 Support

6.1 The Vendor answers support requests on working days.

## 11 Liability

11.1 The Vendor's aggregate liability shall not exceed the fees paid in the twelve months before the claim.
""",
            ),
            Text(
                "order form 2024-118.md",
                """# Order Form 2024-118

Governed by the Subscription Terms.

## Commercial terms

250 named users at EUR 14 a month each.

## Special terms

The Vendor's total liability is capped at twice the fees paid in the twelve months before the claim.
""",
            ),
        ),
    ),
    Pair(
        key="notwithstanding-assignment",
        kind="clause",
        question="May the supplier assign the contract to an affiliate without consent?",
        in_force="the Supplier may assign this Contract to an Affiliate without the Buyer's consent",
        replaced="Neither party may assign this Contract without the prior written consent",
        documents=(
            Text(
                "supply contract.md",
                """# Supply Contract

## 12 Notices

12.1 Notices are sent by registered post or courier.

## 13 Assignment

13.1 Neither party may assign this Contract without the prior written consent of the other.

13.2 Consent may not be unreasonably withheld.

## 14 Waiver

14.1 A failure to exercise a right is no waiver of it.

## 21 Reorganisation

21.1 Notwithstanding clause 13.1, the Supplier may assign this Contract to an Affiliate without the Buyer's
consent if it tells the Buyer within ten days.
""",
            ),
        ),
    ),
    Pair(
        key="circular-withdrawn",
        kind="repeal",
        question="By when must branches report a cash shortage?",
        in_force="Branches report a cash shortage before close of business on the same day",
        replaced="Branches shall report a cash shortage within three working days",
        documents=(
            Text(
                "circular 12-2014.md",
                """# Circular 12/2014: Cash handling

This circular was withdrawn on 30 June 2022 and replaced by Circular 8/2022.

## Counting

Tills are counted twice a day by two employees.

## Shortages

Branches shall report a cash shortage within three working days to Internal Audit.
""",
            ),
            Text(
                "circular 8-2022.md",
                """# Circular 8/2022: Cash and valuables

## Counting

Tills are counted once a day by two employees.

## Differences

Branches report a cash shortage before close of business on the same day to Internal Audit and to Security.
""",
            ),
        ),
    ),
    Pair(
        key="fee-schedule-file-dates",
        kind="version",
        question="What is the fee for a replacement access card?",
        in_force="Replacement of an access card: 18 dollars",
        replaced="Replacement of an access card: 10 dollars",
        documents=(
            Text(
                "fee-schedule-2021.md",
                """# Facilities Fee Schedule

## Cards and keys

Replacement of an access card: 10 dollars. Replacement of a key: 25 dollars.

## Rooms

Use of the auditorium by outside groups: 300 dollars a day.
""",
            ),
            Text(
                "fee-schedule-2025.md",
                """# Facilities Fee Schedule

## Cards and keys

Replacement of an access card: 18 dollars. Replacement of a key: 40 dollars.

## Rooms

Use of the auditorium by outside groups: 450 dollars a day.
""",
            ),
        ),
    ),
    Pair(
        key="bylaws-resolution",
        kind="amendment",
        question="How many directors does the board have?",
        in_force="The board shall consist of nine directors",
        replaced="The number of directors shall be seven",
        documents=(
            Text(
                "bylaws.md",
                """# Bylaws of Ferrin Cooperative

## Article II Members

Every member has one vote.

## Article III Board of directors

Section 1. The number of directors shall be seven, elected for staggered terms of three years.

Section 2. The board meets at least four times a year.

## Article IV Officers

The officers are a president, a treasurer and a secretary.
""",
            ),
            Text(
                "resolution 2020-04.md",
                """# Resolution 2020-04 of the members

Adopted on April 25, 2020.

RESOLVED, that Article III, Section 1 of the Bylaws is amended to read as follows: "The board shall consist of
nine directors, elected for staggered terms of three years."
""",
            ),
        ),
    ),
    Pair(
        key="change-order-uptime",
        kind="amendment",
        question="What availability does the hosting provider guarantee?",
        in_force="availability of 99.95 % in each calendar month",
        replaced="The Provider guarantees an availability of 99.5 % a month",
        documents=(
            Text(
                "hosting schedule b.md",
                """# Schedule B: Service Levels

## B1 Availability

The Provider guarantees an availability of 99.5 % a month, planned maintenance aside.

## B2 Response

Incidents of priority one are answered within thirty minutes.

## B3 Credits

For every full hour of additional outage the Customer receives a credit of two per cent.
""",
            ),
            Text(
                "change order 3.md",
                """# Change Order No. 3

Effective date: November 1, 2021

## Description of change

Second data centre added.

## Effect on Schedule B

Paragraph B1 is superseded: the Provider now guarantees an availability of 99.95 % in each calendar month.

## Effect on price

The monthly price rises by EUR 1,200.
""",
            ),
        ),
    ),
)
