"""In Airflow: check each day's file, load it where it holds its rules, call somebody where it does not.

Copy this file into your folder of DAGs, and set the variable ORDERS to where the files and rules.yaml lie. Each file
is named by its day, as in 2025-05-31.csv. The machines of the workers need `holdfast` on their PATH.

What was tried: Airflow 3.3.2 has run it (`airflow dags test orders 2025-05-01`) for a day that holds its rules and for
one that does not. Airflow is no dependency of Holdfast, so the tests run the three commands in bash, in the order that
Airflow would, with a stand-in that only collects the tasks. For Airflow 2, which was not tried, import DAG from
`airflow` and BashOperator from `airflow.operators.bash`.
"""

from __future__ import annotations

import datetime as dt

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(dag_id="orders", schedule="@daily", start_date=dt.datetime(2025, 5, 1), catchup=False) as dag:
    # Exit code 1 (violated) and 2 (wrong input) are the same tomorrow: no retries. The task fails, and what comes after
    # it does not run. Only a failure while running (3) is worth another try, which bash makes here.
    check = BashOperator(
        task_id="check",
        retries=0,
        bash_command="""
            cd "$ORDERS" || exit 2
            run() { holdfast check "{{ ds }}.csv" rules.yaml --key order_id --quiet --output "{{ ds }}.txt"; }
            run; code=$?
            if [ $code -eq 3 ]; then sleep "${PAUSE:-60}"; run; code=$?; fi
            exit $code
        """,
    )
    load = BashOperator(
        task_id="load",
        bash_command='mkdir -p "$ORDERS/loaded" && cp "$ORDERS/{{ ds }}.csv" "$ORDERS/loaded/"',
    )
    alert = BashOperator(
        task_id="alert",
        trigger_rule="one_failed",
        bash_command='echo "the orders of {{ ds }} were not loaded"; tail -n 2 "$ORDERS/{{ ds }}.txt" || true',
    )
    check >> [load, alert]
